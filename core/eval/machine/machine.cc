// Machine: runs computations instruction by instruction, frees values after their last use, and
// counts steps and bytes.
#include "core/eval/machine/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/counted.h"
#include "core/base/scope_exit.h"
#include "core/eval/machine/kernels.h"
#include "core/hlo/analysis/effects.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::eval {

using hlo::ComputationId;
using hlo::InstructionId;

namespace {

// What can stand as "this part has no value" instead of ending the run.
bool MakesMissing(const Error& error) {
  return error.error_class == ErrorClass::kUnsupported || error.error_class == ErrorClass::kInput;
}

// A value that needs no evaluation: of no elements at all.
std::optional<Value> EmptyValue(const hlo::Shape& shape) {
  if (shape.IsToken()) return Value::Token();
  if (shape.IsArray() && ElementCount(shape) == 0) {
    return Value::Array(hlo::Literal::Dense(shape.WithoutLayouts(), {}));
  }
  if (!shape.IsTuple()) return std::nullopt;
  std::vector<Value> elements;
  for (const hlo::Shape& element : shape.elements()) {
    std::optional<Value> empty = EmptyValue(element);
    if (!empty) return std::nullopt;
    elements.push_back(*std::move(empty));
  }
  return Value::Tuple(std::move(elements));
}

// What stands for a value that cannot be computed. An effect that others would see cannot be left
// out; the state of random generators is nobody else's, and lost.
Result<Value> WithoutKernel(const KernelCall& call, Error why) {
  const hlo::Effects& effects = hlo::EffectsOf(call.module());
  if (effects.IsSeen(call.id)) return std::unexpected(std::move(why));
  call.machine.LoseRandomState(call.id, why);
  if (auto empty = EmptyValue(call.shape())) return *std::move(empty);
  return Value::Missing(std::move(why));
}

// Moves each recv-done, and what depends on it, behind everything else: without a schedule a send
// may stand behind the recv-done of the answer to it.
void WaitLast(const hlo::Module& module, const hlo::Computation& computation,
              std::vector<uint32_t>& order) {
  const uint32_t first = computation.first_instruction;
  std::vector<uint8_t> waits(computation.instruction_count, 0);
  bool any = false;
  for (uint32_t i : order) {
    const hlo::Instruction& instruction = module.instructions()[first + i];
    waits[i] = instruction.opcode == hlo::Opcode::kRecvDone ? 1 : 0;
    for (InstructionId operand : module.operands(instruction)) {
      waits[i] |= waits[operand.index - first];
    }
    if (const auto* before = module.Find(instruction, hlo::AttributeKey::kControlPredecessors)) {
      for (uint32_t id : module.IdsOf(*before)) {
        if (id >= first && id - first < i) waits[i] |= waits[id - first];
      }
    }
    any |= waits[i] != 0;
  }
  if (any) std::ranges::stable_partition(order, [&](uint32_t i) { return waits[i] == 0; });
}

// True if arrays are of the declared element type and of as many bytes as their shapes say.
bool IsWhatItSays(const Value& value, const hlo::Shape& declared) {
  if (value.is_tuple()) {
    return declared.IsTuple() &&
           std::ranges::equal(value.elements(), declared.elements(), IsWhatItSays);
  }
  if (!value.is_array() || !declared.IsArray()) return true;
  const auto bytes = static_cast<int64_t>(value.literal().bytes().size());
  return value.shape().element_type() == declared.element_type() &&
         bytes == value.shape().ByteSize();
}

// Names, groups or shows values under another shape, or only runs what is counted itself.
bool TakesNoWork(hlo::Opcode opcode) {
  if (opcode == hlo::Opcode::kCustomCall || opcode == hlo::Opcode::kScan) return false;
  return hlo::HasTrait(opcode, hlo::kTraitNoCode | hlo::kTraitRunsBody) ||
         opcode == hlo::Opcode::kReshape || opcode == hlo::Opcode::kCopy;
}

// What is written: of an update that part, however large the array around it is (a copy of the
// array is the kernel's to count), and nothing where values are only named or grouped or a body
// counts itself.
int64_t ElementsWritten(const KernelCall& call) {
  const hlo::Opcode opcode = call.opcode();
  if (opcode != hlo::Opcode::kBitcast && opcode != hlo::Opcode::kReshape &&
      opcode != hlo::Opcode::kCopy && TakesNoWork(opcode)) {
    return 0;
  }
  const bool is_part = opcode == hlo::Opcode::kDynamicUpdateSlice && call.operands.size() > 1 &&
                       call.operands[1].is_array();
  return ElementCount(is_part ? call.operand_shape(1) : call.shape());
}

// The bits of elements of whole bytes, which are another value's already.
bool SharesBytes(const KernelCall& call) {
  return call.opcode() == hlo::Opcode::kBitcastConvert &&
         hlo::BitWidth(call.shape().element_type()) >= 8 &&
         hlo::BitWidth(call.operand_shape(0).element_type()) >= 8;
}

}  // namespace

bool MixesPrecision(const hlo::Module& module, InstructionId id) {
  if (KernelOf(module[id].opcode).mixes_precision) return false;
  std::optional<hlo::ElementType> met;
  const auto differs = [&](const hlo::Shape& shape) {
    if (!shape.IsArray()) return false;
    hlo::ElementType type = shape.element_type();
    if (hlo::IsComplex(type)) type = hlo::RealPart(type);
    return hlo::IsFloat(type) && std::exchange(met, type).value_or(type) != type;
  };
  return differs(module.shape(id)) ||
         std::ranges::any_of(module.operands(id),
                             [&](InstructionId operand) { return differs(module.shape(operand)); });
}

std::unexpected<Error> Unsupported(const KernelCall& call, std::string_view why) {
  return hlo::expand::Unsupported(call.module(), call.id, call.shape(), why);
}

Machine::Machine(const hlo::Module& module, const EvaluateOptions& options, RunState& run,
                 DeviceSet& devices, int64_t device, StepRecorder* recorder)
    : module_(module),
      options_(options),
      run_(run),
      devices_(devices),
      device_(device),
      compiled_(options.compiled != nullptr && &options.compiled->module() == &module
                    ? options.compiled
                    : nullptr),
      recorder_(recorder),
      schedules_(module.computations().size()),
      random_{options.rng_seed, options.rng_seed} {
  if (runtime::SharedWork* shared = devices.SharedWorkOf(device)) {
    const int64_t partitions = devices.counts().partitions;
    local_ = std::make_unique<LocalValues>(module, *shared, devices.turns(), device,
                                           device / partitions * partitions,
                                           options.observer != nullptr);
  }
}

Result<Buffer> Machine::Allocate(const hlo::Shape& shape) {
  const std::optional<int64_t> bytes = shape.ByteSize();
  if (!bytes || *bytes > options_.limits.tensor_bytes) {
    return EnvironmentError(
        fmt::format("{} is larger than the limit tensor", hlo::ToString(shape, false)));
  }
  return Allocate(*bytes);
}

bool Machine::ObservesLanes() const {
  return options_.observer != nullptr && !frames_.empty() &&
         options_.observer->WantsLanes(frames_.back().caller);
}

uint64_t Machine::NextRandom() {  // splitmix64
  uint64_t z = (random_.stateful += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void Machine::LoseRandomState(InstructionId id, const Error& why) {
  const hlo::Effects& effects = hlo::EffectsOf(module_);
  for (const auto generator : {hlo::Generator::kSeeded, hlo::Generator::kCounter}) {
    std::optional<Error>& lost = random_.lost[static_cast<size_t>(generator)];
    if (lost || !effects.Draws(id, generator)) continue;
    lost = why;
    lost->message =
        fmt::format("{} could not draw its random numbers, so those after it are unknown: {}",
                    module_.name(id), why.message);
  }
}

Status Machine::CheckRandomState(hlo::Generator generator) const {
  const std::optional<Error>& lost = random_.lost[static_cast<size_t>(generator)];
  if (lost) return std::unexpected(*lost);
  return {};
}

const Schedule& Machine::ScheduleOf(ComputationId id) {
  std::unique_ptr<const Schedule>& slot = schedules_[id.index];
  if (slot != nullptr) return *slot;
  const hlo::Computation& computation = module_[id];
  const uint32_t first = computation.first_instruction;
  auto schedule = std::make_unique<Schedule>();
  const std::vector<bool> live = hlo::LiveInstructions(module_, id);
  for (uint32_t i = 0; i < computation.instruction_count; ++i) {
    if (live[i]) schedule->order.push_back(i);
  }
  if (!module_.header().is_scheduled) WaitLast(module_, computation, schedule->order);
  schedule->last_use.assign(computation.instruction_count, 0);
  schedule->mixes_precision.assign(computation.instruction_count, 0);
  for (uint32_t i : schedule->order) {
    schedule->mixes_precision[i] = MixesPrecision(module_, InstructionId(first + i)) ? 1 : 0;
    for (InstructionId operand : module_.operands(InstructionId(first + i))) {
      schedule->last_use[operand.index - first] = i;
    }
  }
  schedule->last_use[computation.root.index - first] = computation.instruction_count;
  slot = std::move(schedule);
  return *slot;
}

// True if the instruction has compiled code, and operands that it is made for; code shows nobody
// what it applies to elements.
bool Machine::IsCompiled(const KernelCall& call) const {
  if (!compiled_->Has(call.id) || ObservesLanes()) return false;
  return std::ranges::all_of(call.operands, [](const Value& operand) {
    return operand.is_array() && operand.literal().dynamic_sizes().empty();
  });
}

// Kernels rely on what XLA's verifier does not ask for: that floats which meet are of one type, and
// that a value is of the type it is declared with.
Result<Value> Machine::Apply(KernelCall& call, const KernelRow& row) {
  const ComputationId computation = call.instruction().computation;
  const uint32_t position = call.id.index - module_[computation].first_instruction;
  if (ScheduleOf(computation).mixes_precision[position] != 0) {
    return Unsupported(call, "its operands and result mix floating-point types");
  }
  HLOSCOPE_ASSIGN_OR_RETURN(Value value, NeedsLiveCall(call, row.live)
                                             ? CallLive(call, row.kernel, row.live)
                                             : row.kernel(call));
  // The parts of tuples that are only handed on have been looked at.
  const bool look = value.is_array() || !row.takes_missing;
  if (look && !IsWhatItSays(value, call.shape())) {
    return Unsupported(call, "its declared element type differs from its actual one");
  }
  return value;
}

Result<Value> Machine::ApplyBesideCompiled(KernelCall& call, const KernelRow& row) {
  if (IsCompiled(call)) return compiled_->Run(call);
  if (TakesNoWork(call.opcode()) || SharesBytes(call)) return Apply(call, row);
  const int64_t start = SteadyNanoseconds();
  Result<Value> value = Apply(call, row);
  const bool computed = value.has_value() && !value->is_missing();
  if (computed) compiled_->Evaluated(call.id, SteadyNanoseconds() - start);
  return value;
}

Result<Value> Machine::RunKernel(KernelCall& call, const KernelRow& row) {
  frames_.push_back({call.id});
  const OnScopeExit pop([&] { frames_.pop_back(); });
  return compiled_ == nullptr ? Apply(call, row) : ApplyBesideCompiled(call, row);
}

Result<Value> Machine::RunInstruction(InstructionId id, std::span<Value> operands,
                                      std::span<Value> arguments) {
  KernelCall call{*this, id, operands, arguments, nullptr};
  const KernelRow& row = KernelOf(call.opcode());
  if (!row.takes_missing) {
    for (const Value& operand : operands) {
      if (operand.is_missing()) return WithoutKernel(call, operand.error());
    }
  }
  // Compiled kernels say themselves what they write.
  const bool is_compiled = compiled_ != nullptr && IsCompiled(call);
  HLOSCOPE_TRY(Charge(is_compiled ? 1 : 1 + ElementsWritten(call)));
  Result<Value> value = RunKernel(call, row);
  if (value.has_value() || !MakesMissing(value.error())) return value;
  return WithoutKernel(call, std::move(value).error());
}

Result<Value> Machine::RunStep(InstructionId id, std::span<Value> operands,
                               std::span<Value> arguments) {
  const auto run = [&] { return RunInstruction(id, operands, arguments); };
  return local_ == nullptr ? run() : local_->Step(id, frames_, random_, run);
}

// Operands are kept for the observer, so no kernel takes one over. What another partition computed
// is told too.
Result<Value> Machine::RunObserved(InstructionId id, std::span<Value> operands,
                                   std::span<Value> arguments) {
  const std::vector<Value> before(operands.begin(), operands.end());
  HLOSCOPE_ASSIGN_OR_RETURN(Value value, RunStep(id, operands, arguments));
  const int64_t device = local_ == nullptr ? device_ : local_->told_device();
  HLOSCOPE_TRY(options_.observer->OnValue({id, device, frames_}, before, value));
  return value;
}

// Observers are to see every iteration as it is, and so is who follows what is whose.
const LoopInvariants* Machine::InvariantsOf(ComputationId body) {
  if (options_.observer != nullptr || local_ != nullptr) return nullptr;
  // Invariants are held as long as their loop runs: not where memory was asked to be short.
  if (options_.memory_bytes > 0) return nullptr;
  if (repeatable_ == nullptr) {
    repeatable_ = std::make_unique<const Repeatable>(module_);
    invariants_.resize(module_.computations().size());
  }
  std::unique_ptr<const LoopInvariants>& slot = invariants_[body.index];
  if (slot == nullptr) slot = std::make_unique<const LoopInvariants>(module_, body, *repeatable_);
  return slot->empty() ? nullptr : slot.get();
}

Status Machine::RunAll(ComputationId id, std::span<Value> arguments, std::span<Value> values,
                       LoopMemory* memory) {
  const uint32_t first = module_[id].first_instruction;
  const Schedule& schedule = ScheduleOf(id);
  std::vector<Value> operands;
  for (uint32_t position : schedule.order) {
    if (memory != nullptr && memory->Recall(position, values[position])) continue;
    const InstructionId instruction(first + position);
    operands.clear();
    for (InstructionId operand : module_.operands(instruction)) {
      operands.push_back(values[operand.index - first]);
    }
    for (InstructionId operand : module_.operands(instruction)) {
      const uint32_t from = operand.index - first;
      if (schedule.last_use[from] == position) values[from] = Value();
    }
    Result<Value> value = options_.observer == nullptr
                              ? RunStep(instruction, operands, arguments)
                              : RunObserved(instruction, operands, arguments);
    if (recorder_ != nullptr) recorder_->Ended(instruction);
    if (!value.has_value()) return std::unexpected(std::move(value).error());
    values[position] = *std::move(value);
    if (memory != nullptr) memory->Remember(position, values[position]);
  }
  return {};
}

Result<Value> Machine::Call(ComputationId id, std::vector<Value> arguments, LoopMemory* memory) {
  // Calls nest as deep as the file likes; each level here is a few frames of our own stack.
  if (std::cmp_greater_equal(frames_.size(), options_.limits.nesting)) {
    return InputError(fmt::format("calls are nested more than {} deep",
                                  Counted(options_.limits.nesting, "level")),
                      "raise --limit nesting");
  }
  const hlo::Computation& computation = module_[id];
  std::vector<Value> values(computation.instruction_count);
  LocalValues::InComputation scope(local_.get(), id);
  if (recorder_ != nullptr) recorder_->Enter(frames_);
  const OnScopeExit leave([this] {
    if (recorder_ != nullptr) recorder_->Leave();
  });
  HLOSCOPE_TRY(RunAll(id, arguments, values, memory));
  if (memory != nullptr) memory->Ran();
  scope.Succeeded();
  return std::move(values[computation.root.index - computation.first_instruction]);
}

}  // namespace hloscope::eval
