// Compiling scalar computations to lists of lane kernels, and running them block by block.
#include "core/eval/loops/vectorized_computation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/hlo/grouping.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::eval {

using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Opcode;

namespace {

constexpr size_t kAlignment = 64;
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
  return hlo::HasTrait(opcode, hlo::kTraitAssociative) || opcode == Opcode::kConvert ||
         opcode == Opcode::kReducePrecision;
}

// True if a step of the computation is to be rounded by itself: one of its operations, for some
// type of its scalars.
bool RoundsEachStep(const hlo::Module& module, ComputationId id, Opcode opcode) {
  const hlo::Computation& computation = module[id];
  for (uint32_t i = 0; i < computation.instruction_count; ++i) {
    const hlo::Shape& shape = module.shape(InstructionId(computation.first_instruction + i));
    if (std::ranges::any_of(shape.LeafShapes(), [&](const hlo::Shape* leaf) {
          return hlo::RoundsEachStep(opcode, leaf->element_type());
        })) {
      return true;
    }
  }
  return false;
}

}  // namespace

// Walks a computation and the ones it calls, giving every scalar a register. Compile is false where
// something is not elementwise.
class LaneCompiler {
 public:
  LaneCompiler(const hlo::Module& module, VectorizedComputation::Program& out, int64_t nesting)
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
      if (MixesPrecision(module_, instruction)) return false;
      if (!CompileInstruction(instruction, operands, arguments, values[i])) return false;
      if (!Holds(values[i], module_.shape(instruction))) return false;
    }
    result = values[computation.root.index - computation.first_instruction];
    ++nesting_;
    return true;
  }

  uint32_t AddRegister(hlo::ElementType type, VectorizedComputation::Source source) {
    VectorizedComputation::Register next{source, hlo::StorageBytes(type), out_.scratch_bytes, {}};
    if (source != VectorizedComputation::Source::kParameter) {
      const size_t bytes = static_cast<size_t>(VectorizedComputation::kLanes * next.size);
      out_.scratch_bytes += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    }
    out_.registers.push_back(next);
    types_.push_back(type);
    return static_cast<uint32_t>(out_.registers.size() - 1);
  }

 private:
  // True if the registers are of the element types the shape says.
  bool Holds(const Registers& registers, const hlo::Shape& shape) const {
    return std::ranges::equal(registers, ElementTypesOf(shape), {},
                              [&](uint32_t slot) { return types_[slot]; });
  }

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
    const uint32_t slot =
        AddRegister(literal->shape().element_type(), VectorizedComputation::Source::kConstant);
    VectorizedComputation::Register& constant = out_.registers[slot];
    std::memcpy(constant.value, literal->bytes().data(), static_cast<size_t>(constant.size));
    value = {slot};
    return true;
  }

  bool CompileStep(const hlo::Instruction& instruction, std::span<const Registers> operands,
                   Registers& value) {
    const bool is_bitcast =
        instruction.opcode == Opcode::kBitcast || instruction.opcode == Opcode::kBitcastConvert;
    if (!is_bitcast && !hlo::HasFlag(instruction.opcode, hlo::kFlagElementwise)) return false;
    if (operands.empty() || operands.size() > 3 || out_.steps.size() >= kMaxSteps) return false;
    Result<LaneKernel> kernel = LaneKernel::Find(module_, instruction);
    if (!kernel.has_value()) return false;
    VectorizedComputation::Step step{*kernel, {}, 0, instruction.opcode};
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].size() != 1) return false;
      step.in[i] = operands[i][0];
    }
    step.out = AddRegister(kernel->result_type(), VectorizedComputation::Source::kStep);
    out_.steps.push_back(step);
    value = {step.out};
    return true;
  }

  const hlo::Module& module_;
  VectorizedComputation::Program& out_;
  int64_t nesting_;
  ElementTypes types_;  // of each register
};

Result<VectorizedComputation> VectorizedComputation::Compile(Machine& machine,
                                                             ComputationId computation) {
  const hlo::Module& module = machine.module();
  auto program = std::make_shared<Program>();
  program->computation = computation;
  LaneCompiler compiler(module, *program, machine.options().limits.nesting);
  std::vector<Registers> arguments;
  for (InstructionId parameter : module.Parameters(computation)) {
    const hlo::Shape& shape = module.shape(parameter);
    if (!shape.IsArray() || shape.ElementCount() != 1) {
      return UnsupportedError(fmt::format("parameter {} of {} is not a scalar",
                                          module.name(parameter),
                                          module[module[computation].name]));
    }
    program->parameters.push_back(shape.element_type());
    arguments.push_back({compiler.AddRegister(shape.element_type(), Source::kParameter)});
  }
  program->results = ElementTypesOf(module.shape(module[computation].root));
  program->compiled = compiler.Compile(computation, arguments, program->outputs) &&
                      program->outputs.size() == program->results.size();
  program->associative =
      IsAssociative(*program) && std::ranges::none_of(program->steps, [&](const Step& step) {
        return RoundsEachStep(module, computation, step.opcode);
      });
  return VectorizedComputation(machine, std::move(program));
}

bool VectorizedComputation::IsAssociative(const Program& program) {
  const size_t k = program.results.size();
  if (!program.compiled || program.parameters.size() != 2 * k) return false;
  std::vector<const Step*> producer(program.registers.size(), nullptr);
  for (const Step& step : program.steps) producer[step.out] = &step;
  for (size_t i = 0; i < k; ++i) {
    int operations = 0;
    std::vector<uint32_t> pending = {program.outputs[i]};
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

const LaneKernel* VectorizedComputation::OnlyOperation() const {
  if (!RunsAsLoops() || program_->steps.size() != 1 || program_->outputs.size() != 1) {
    return nullptr;
  }
  const Step& step = program_->steps[0];
  const bool fits = step.kernel.operand_count() == 2 && step.in[0] == 0 && step.in[1] == 1 &&
                    program_->outputs[0] == step.out;
  return fits ? &step.kernel : nullptr;
}

UpdateLoop VectorizedComputation::OnlyUpdate() const {
  if (program_->parameters.size() == 2 && IsParameter(1)) {
    return FindReplaceLoop(hlo::StorageBytes(program_->results[0]));
  }
  if (OnlyOperation() == nullptr) return nullptr;
  return FindUpdateLoop(program_->steps[0].opcode, program_->results[0]);
}

bool VectorizedComputation::IsParameter(uint32_t i) const {
  return RunsAsLoops() && program_->outputs.size() == 1 && program_->outputs[0] == i &&
         i < program_->parameters.size();
}

Status VectorizedComputation::Run(std::span<const std::byte* const> in,
                                  std::span<std::byte* const> out, int64_t count) {
  HLOSCOPE_TRY(machine_->Charge(count));
  if (!RunsAsLoops()) return RunLaneByLane(in, out, count);
  if (current_.empty()) MakeScratch();
  for (int64_t begin = 0; begin < count; begin += kLanes) {
    RunBlock(in, out, begin, std::min(kLanes, count - begin));
  }
  return {};
}

// Lanes for everything but parameters; those of constants are filled in once.
void VectorizedComputation::MakeScratch() {
  const auto& registers = program_->registers;
  scratch_ = std::make_unique_for_overwrite<std::byte[]>(program_->scratch_bytes);
  current_.resize(registers.size());
  for (size_t r = 0; r < registers.size(); ++r) {
    current_[r] = scratch_.get() + registers[r].at;
    if (registers[r].source != Source::kConstant) continue;
    const auto size = static_cast<size_t>(registers[r].size);
    for (size_t lane = 0; lane < static_cast<size_t>(kLanes); ++lane) {
      std::memcpy(current_[r] + lane * size, registers[r].value, size);
    }
  }
}

void VectorizedComputation::RunBlock(std::span<const std::byte* const> in,
                                     std::span<std::byte* const> out, int64_t begin,
                                     int64_t count) {
  const auto& registers = program_->registers;
  const auto& outputs = program_->outputs;
  for (size_t i = 0; i < in.size(); ++i) {
    current_[i] = const_cast<std::byte*>(in[i] + begin * registers[i].size);
  }
  // A step's lanes are computed in the output's place.
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (registers[outputs[i]].source != Source::kStep) continue;
    current_[outputs[i]] = out[i] + begin * registers[outputs[i]].size;
  }
  for (const Step& step : program_->steps) {
    step.kernel.Run({current_[step.in[0]], current_[step.in[1]], current_[step.in[2]]},
                    current_[step.out], count);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int size = registers[outputs[i]].size;
    std::byte* target = out[i] + begin * size;
    if (current_[outputs[i]] == target) continue;  // the step wrote it there
    std::memcpy(target, current_[outputs[i]], static_cast<size_t>(count * size));
  }
}

Status VectorizedComputation::RunLaneByLane(std::span<const std::byte* const> in,
                                            std::span<std::byte* const> out, int64_t count) {
  const auto parameters = machine_->module().Parameters(program_->computation);
  for (int64_t lane = 0; lane < count; ++lane) {
    std::vector<Value> arguments;
    for (size_t i = 0; i < program_->parameters.size(); ++i) {
      const hlo::Shape& shape = machine_->module().shape(parameters[i]);
      HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, machine_->Allocate(shape));
      const int size = hlo::StorageBytes(program_->parameters[i]);
      std::memcpy(buffer.data(), in[i] + lane * size, static_cast<size_t>(size));
      arguments.push_back(Value::Array(shape, std::move(buffer)));
    }
    HLOSCOPE_ASSIGN_OR_RETURN(const Value result,
                              machine_->Call(program_->computation, std::move(arguments)));
    for (size_t i = 0; i < program_->results.size(); ++i) {
      const Value& leaf = result.is_tuple() ? result.elements()[i] : result;
      if (leaf.is_missing()) return std::unexpected(leaf.error());
      const int size = hlo::StorageBytes(program_->results[i]);
      std::memcpy(out[i] + lane * size, leaf.data(), static_cast<size_t>(size));
    }
  }
  return {};
}

ElementTypes ElementTypesOf(std::span<const Value> arrays) {
  ElementTypes types;
  types.reserve(arrays.size());
  for (const Value& array : arrays) types.push_back(array.shape().element_type());
  return types;
}

ElementTypes ElementTypesOf(const hlo::Shape& shape) {
  if (!shape.IsTuple()) return {shape.element_type()};
  ElementTypes types;
  for (const hlo::Shape* leaf : shape.LeafShapes()) types.push_back(leaf->element_type());
  return types;
}

Result<VectorizedComputation> CompileLanes(const KernelCall& call, ComputationId computation,
                                           const ElementTypes& from, const ElementTypes& to) {
  HLOSCOPE_ASSIGN_OR_RETURN(VectorizedComputation function,
                            VectorizedComputation::Compile(call.machine, computation));
  if (!std::ranges::equal(function.parameter_types(), from) ||
      !std::ranges::equal(function.result_types(), to)) {
    const hlo::Module& module = call.module();
    return Unsupported(call, fmt::format("{} is applied to other element types than its own",
                                         module[module[computation].name]));
  }
  return function;
}

Result<VectorizedComputation> CompileReducer(const KernelCall& call, ComputationId computation,
                                             const ElementTypes& arrays,
                                             std::initializer_list<ElementTypes> others) {
  if (std::ranges::any_of(others, [&](const ElementTypes& each) { return each != arrays; })) {
    return Unsupported(call, "its operands and results are of several element types");
  }
  ElementTypes twice = arrays;
  twice.insert(twice.end(), arrays.begin(), arrays.end());
  return CompileLanes(call, computation, twice, arrays);
}

}  // namespace hloscope::eval
