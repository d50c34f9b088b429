// Compiling scalar computations to lists of lane kernels, and running them block by block.
#include "core/eval/lane_function.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace hloscope::eval {

using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Opcode;

namespace {

constexpr size_t kMaxElementBytes = 16;
constexpr size_t kMaxSteps = 4096;

// What an instruction is to the compiler: registers, one per leaf.
using Registers = std::vector<uint32_t>;

bool IsScalarOrTuple(const hlo::Shape& shape) {
  if (shape.IsArray()) return shape.ElementCount() == 1 && !shape.has_dynamic_dimension();
  if (!shape.IsTuple()) return false;
  return std::ranges::all_of(shape.elements(), [](const hlo::Shape& element) {
    return element.IsArray() && element.ElementCount() == 1;
  });
}

bool KeepsAssociative(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAdd:
    case Opcode::kMultiply:
    case Opcode::kMinimum:
    case Opcode::kMaximum:
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
    case Opcode::kConvert:
    case Opcode::kReducePrecision:
      return true;
    default:
      return false;
  }
}

}  // namespace

// Walks a computation and the ones it calls, giving every scalar a register. Compile is false where
// something is not elementwise.
class LaneCompiler {
 public:
  LaneCompiler(const hlo::Module& module, LaneFunction& out, int64_t nesting)
      : module_(module), out_(out), nesting_(nesting) {}

  bool Compile(ComputationId id, std::span<const Registers> arguments, Registers& result) {
    if (nesting_-- <= 0) return false;
    const hlo::Computation& computation = module_[id];
    std::vector<Registers> values(computation.instruction_count);
    for (uint32_t i = 0; i < computation.instruction_count; ++i) {
      const InstructionId instruction(computation.first_instruction + i);
      if (!IsScalarOrTuple(module_.shape(instruction))) return false;
      std::vector<Registers> operands;
      for (InstructionId operand : module_.operands(instruction)) {
        operands.push_back(values[operand.index - computation.first_instruction]);
      }
      if (!CompileInstruction(instruction, operands, arguments, values[i])) return false;
    }
    result = values[computation.root.index - computation.first_instruction];
    ++nesting_;
    return true;
  }

  uint32_t AddRegister(hlo::ElementType type, bool with_lanes) {
    LaneFunction::Register next{nullptr, hlo::StorageBytes(type)};
    if (with_lanes) {
      auto lanes = std::make_shared<std::byte[]>(LaneFunction::kLanes * kMaxElementBytes);
      next.data = lanes.get();
      out_.storage_.push_back(std::move(lanes));
    }
    out_.registers_.push_back(next);
    return static_cast<uint32_t>(out_.registers_.size() - 1);
  }

 private:
  bool CompileInstruction(InstructionId id, std::span<const Registers> operands,
                          std::span<const Registers> arguments, Registers& value) {
    const hlo::Instruction& instruction = module_[id];
    switch (instruction.opcode) {
      case Opcode::kParameter: {
        const int64_t number = module_.GetInt(instruction, AttributeKey::kParameterNumber);
        if (number < 0 || std::cmp_greater_equal(number, arguments.size())) return false;
        value = arguments[static_cast<size_t>(number)];
        return true;
      }
      case Opcode::kConstant:
        return CompileConstant(instruction, value);
      case Opcode::kTuple:
        for (const Registers& operand : operands) {
          value.insert(value.end(), operand.begin(), operand.end());
        }
        return true;
      case Opcode::kGetTupleElement:
        value = {
            operands[0][static_cast<size_t>(module_.GetInt(instruction, AttributeKey::kIndex))]};
        return true;
      case Opcode::kCopy:
      case Opcode::kReshape:
      case Opcode::kBroadcast:
      case Opcode::kTranspose:
      case Opcode::kOptimizationBarrier:
        value = operands[0];
        return true;
      case Opcode::kCall:
        return Compile(module_.GetComputation(instruction, AttributeKey::kToApply), operands,
                       value);
      case Opcode::kFusion:
        return Compile(module_.GetComputation(instruction, AttributeKey::kCalls), operands, value);
      case Opcode::kMap:
        return false;
      default:
        return CompileStep(instruction, operands, value);
    }
  }

  bool CompileConstant(const hlo::Instruction& instruction, Registers& value) {
    const auto* literal = module_.Get<hlo::Literal>(instruction, AttributeKey::kConstantValue);
    if (literal == nullptr || literal->elided() || !literal->shape().IsArray()) return false;
    const uint32_t slot = AddRegister(literal->shape().element_type(), true);
    const LaneFunction::Register& constant = out_.registers_[slot];
    const auto size = static_cast<size_t>(constant.size);
    for (size_t i = 0; i < static_cast<size_t>(LaneFunction::kLanes); ++i) {
      std::memcpy(constant.data + i * size, literal->bytes().data(), size);
    }
    value = {slot};
    return true;
  }

  bool CompileStep(const hlo::Instruction& instruction, std::span<const Registers> operands,
                   Registers& value) {
    if (!hlo::HasFlag(instruction.opcode, hlo::kFlagElementwise)) return false;
    if (operands.empty() || operands.size() > 3 || out_.steps_.size() >= kMaxSteps) return false;
    Result<LaneKernel> kernel = LaneKernel::Find(module_, instruction);
    if (!kernel.has_value()) return false;
    LaneFunction::Step step{*kernel, {}, 0, instruction.opcode};
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].size() != 1) return false;
      step.in[i] = operands[i][0];
    }
    step.out = AddRegister(kernel->result_type(), true);
    out_.steps_.push_back(step);
    value = {step.out};
    return true;
  }

  const hlo::Module& module_;
  LaneFunction& out_;
  int64_t nesting_;
};

Result<LaneFunction> LaneFunction::Compile(Machine& machine, ComputationId computation) {
  const hlo::Module& module = machine.module();
  LaneFunction function;
  function.machine_ = &machine;
  function.computation_ = computation;
  LaneCompiler compiler(module, function, machine.options().limits.nesting);
  std::vector<Registers> arguments;
  for (InstructionId parameter : module.Parameters(computation)) {
    const hlo::Shape& shape = module.shape(parameter);
    if (!shape.IsArray() || shape.ElementCount() != 1) {
      return UnsupportedError(fmt::format("parameter {} of {} is not a scalar",
                                          module.name(parameter),
                                          module[module[computation].name]));
    }
    function.parameters_.push_back(shape.element_type());
    arguments.push_back({compiler.AddRegister(shape.element_type(), false)});
  }
  const hlo::Shape& root = module.shape(module[computation].root);
  for (const auto& [index, leaf] : root.Leaves()) function.results_.push_back(leaf->element_type());
  function.compiled_ = compiler.Compile(computation, arguments, function.outputs_);
  if (function.compiled_ && function.outputs_.size() != function.results_.size()) {
    function.compiled_ = false;
  }
  function.current_.resize(function.registers_.size());
  function.is_step_result_.resize(function.registers_.size());
  for (const Step& step : function.steps_) function.is_step_result_[step.out] = true;
  return function;
}

bool LaneFunction::IsAssociative() const {
  const size_t k = results_.size();
  if (!compiled_ || parameters_.size() != 2 * k) return false;
  std::vector<const Step*> producer(registers_.size(), nullptr);
  for (const Step& step : steps_) producer[step.out] = &step;
  for (size_t i = 0; i < k; ++i) {
    int operations = 0;
    std::vector<uint32_t> pending = {outputs_[i]};
    while (!pending.empty()) {
      const uint32_t at = pending.back();
      pending.pop_back();
      if (at == i || at == i + k) continue;
      const Step* step = producer[at];
      if (step == nullptr) return false;  // a constant, or another value's parameter
      operations += step->kernel.operand_count() == 2;
      if (operations > 1 || !KeepsAssociative(step->opcode)) return false;
      pending.insert(pending.end(), step->in.begin(),
                     step->in.begin() + step->kernel.operand_count());
    }
    if (operations != 1) return false;
  }
  return true;
}

Status LaneFunction::Run(std::span<const std::byte* const> in, std::span<std::byte* const> out,
                         int64_t count) {
  HLOSCOPE_TRY(machine_->Charge(count));
  if (!compiled_ || machine_->ObservesLanes()) return RunLaneByLane(in, out, count);
  for (int64_t begin = 0; begin < count; begin += kLanes) {
    RunBlock(in, out, begin, std::min(kLanes, count - begin));
  }
  return {};
}

void LaneFunction::RunBlock(std::span<const std::byte* const> in, std::span<std::byte* const> out,
                            int64_t begin, int64_t count) {
  for (size_t i = 0; i < registers_.size(); ++i) {
    current_[i] = i < in.size() ? const_cast<std::byte*>(in[i] + begin * registers_[i].size)
                                : registers_[i].data;
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (!is_step_result_[outputs_[i]]) continue;
    current_[outputs_[i]] = out[i] + begin * registers_[outputs_[i]].size;
  }
  for (const Step& step : steps_) {
    step.kernel.Run({current_[step.in[0]], current_[step.in[1]], current_[step.in[2]]},
                    current_[step.out], count);
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const int size = registers_[outputs_[i]].size;
    std::byte* target = out[i] + begin * size;
    if (current_[outputs_[i]] == target) continue;  // the step wrote it there
    std::memcpy(target, current_[outputs_[i]], static_cast<size_t>(count * size));
  }
}

Status LaneFunction::RunLaneByLane(std::span<const std::byte* const> in,
                                   std::span<std::byte* const> out, int64_t count) {
  const auto parameters = machine_->module().Parameters(computation_);
  for (int64_t lane = 0; lane < count; ++lane) {
    std::vector<Value> arguments;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const hlo::Shape& shape = machine_->module().shape(parameters[i]);
      HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, machine_->Allocate(shape));
      const int size = hlo::StorageBytes(parameters_[i]);
      std::memcpy(buffer.data(), in[i] + lane * size, static_cast<size_t>(size));
      arguments.push_back(Value::Array(shape, std::move(buffer)));
    }
    HLOSCOPE_ASSIGN_OR_RETURN(const Value result,
                              machine_->Call(computation_, std::move(arguments)));
    for (size_t i = 0; i < results_.size(); ++i) {
      const Value& leaf = result.is_tuple() ? result.elements()[i] : result;
      if (leaf.is_missing()) return std::unexpected(leaf.error());
      const int size = hlo::StorageBytes(results_[i]);
      std::memcpy(out[i] + lane * size, leaf.data(), static_cast<size_t>(size));
    }
  }
  return {};
}

}  // namespace hloscope::eval
