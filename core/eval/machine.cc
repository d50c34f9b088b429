// Machine: runs computations instruction by instruction, frees values after their last use, and
// counts steps and bytes.
#include "core/eval/machine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <new>
#include <utility>

#include "core/eval/kernels.h"

namespace hloscope::eval {

using hlo::ComputationId;
using hlo::InstructionId;

namespace {

constexpr int64_t kStepsBetweenLooks = 1 << 16;

int64_t PhysicalBytes() {
  const int64_t pages = sysconf(_SC_PHYS_PAGES);
  const int64_t page_size = sysconf(_SC_PAGESIZE);
  return pages > 0 && page_size > 0 ? pages * page_size : int64_t{1} << 33;
}

std::unexpected<Error> Died(std::string message, std::string hint = {}) {
  Error error;
  error.error_class = ErrorClass::kDied;
  error.message = std::move(message);
  error.hint = std::move(hint);
  return std::unexpected(std::move(error));
}

// What can stand as "this part has no value" instead of ending the run.
bool MakesMissing(const Error& error) {
  return error.error_class == ErrorClass::kUnsupported || error.error_class == ErrorClass::kInput;
}

}  // namespace

int64_t ElementCount(const hlo::Shape& shape) { return shape.ElementCount().value_or(0); }

std::vector<int64_t> Dimensions(const hlo::Shape& shape) {
  return {shape.dimensions().begin(), shape.dimensions().end()};
}

std::unexpected<Error> Unsupported(const KernelCall& call, std::string_view why) {
  return UnsupportedError(
      fmt::format("{}: {} {} cannot be evaluated: {}", call.module().name(call.id),
                  hlo::ToString(call.opcode()), hlo::ToString(call.shape(), false), why),
      "run another platform, or cut the instruction out of what the result depends on");
}

Machine::Machine(const hlo::Module& module, const EvaluateOptions& options)
    : module_(module),
      options_(options),
      schedules_(module.computations().size()),
      memory_limit_(PhysicalBytes() / 100 * options.limits.run_memory_percent),
      random_(options.rng_seed),
      random_state_(options.rng_seed) {}

Result<Buffer> Machine::Allocate(const hlo::Shape& shape) {
  const std::optional<int64_t> bytes = shape.ByteSize();
  if (!bytes || *bytes > options_.limits.tensor_bytes) {
    return EnvironmentError(
        fmt::format("{} is larger than the limit tensor", hlo::ToString(shape, false)));
  }
  return Allocate(*bytes);
}

Result<Buffer> Machine::Allocate(int64_t bytes) {
  if (bytes > memory_limit_ - memory_->live) {
    return EnvironmentError(fmt::format("{} bytes more would exceed the memory limit of {} bytes",
                                        bytes, memory_limit_),
                            "raise --memory or the limit memory");
  }
  auto* data = new (std::nothrow) std::byte[static_cast<size_t>(bytes)];
  if (data == nullptr) return EnvironmentError(fmt::format("no memory for {} bytes", bytes));
  memory_->live += bytes;
  memory_->peak = std::max<int64_t>(memory_->peak, memory_->live);
  auto release = [memory = memory_, bytes](std::byte* p) {
    memory->live -= bytes;
    delete[] p;
  };
  return Buffer{std::shared_ptr<std::byte[]>(data, std::move(release)), static_cast<size_t>(bytes)};
}

Status Machine::Charge(int64_t steps) {
  steps_ += steps;
  if (steps_ - steps_at_last_look_ < kStepsBetweenLooks) return {};
  steps_at_last_look_ = steps_;
  if (options_.stop.stop_requested()) return Died("the run was stopped before it ended");
  const auto time = std::chrono::steady_clock::now() - start_;
  if (std::chrono::duration_cast<std::chrono::seconds>(time).count() >=
      options_.limits.run_deadline_seconds) {
    return Died(
        fmt::format("the deadline of {} seconds is over", options_.limits.run_deadline_seconds),
        "raise --deadline or the limit deadline");
  }
  if (steps_ > options_.limits.interpreter_steps) {
    return Died(fmt::format("more than {} element operations", options_.limits.interpreter_steps),
                "raise the limit interpreter-steps");
  }
  return {};
}

uint64_t Machine::NextRandom() {  // splitmix64
  uint64_t z = (random_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

const Schedule& Machine::ScheduleOf(ComputationId id) {
  std::unique_ptr<const Schedule>& slot = schedules_[id.index];
  if (slot != nullptr) return *slot;
  const hlo::Computation& computation = module_[id];
  const uint32_t first = computation.first_instruction;
  auto schedule = std::make_unique<Schedule>();
  schedule->last_use.assign(computation.instruction_count, 0);
  std::vector<uint8_t> live(computation.instruction_count, 0);
  live[computation.root.index - first] = 1;
  schedule->last_use[computation.root.index - first] = computation.instruction_count;
  // Operands stand before their users, so one pass from the end finds everything alive.
  for (uint32_t i = computation.instruction_count; i-- > 0;) {
    const hlo::Instruction& instruction = module_.instructions()[first + i];
    if (hlo::HasFlag(instruction.opcode, hlo::kFlagSideEffect)) live[i] = 1;
    if (live[i] == 0) continue;
    for (InstructionId operand : module_.operands(instruction)) {
      const uint32_t position = operand.index - first;
      live[position] = 1;
      schedule->last_use[position] = std::max(schedule->last_use[position], i);
    }
  }
  for (uint32_t i = 0; i < computation.instruction_count; ++i) {
    if (live[i] != 0) schedule->order.push_back(i);
  }
  slot = std::move(schedule);
  return *slot;
}

Result<Value> Machine::RunInstruction(InstructionId id, std::span<Value> operands,
                                      std::span<Value> arguments) {
  KernelCall call{*this, id, operands, arguments};
  const KernelRow& row = KernelOf(call.opcode());
  if (!row.takes_missing) {
    for (const Value& operand : operands) {
      if (operand.is_missing()) return operand;
    }
  }
  HLOSCOPE_TRY(Charge(1 + ElementCount(call.shape())));
  Result<Value> value = row.kernel(call);
  if (value.has_value() || !MakesMissing(value.error())) return value;
  if (hlo::HasFlag(call.opcode(), hlo::kFlagSideEffect)) return value;
  return Value::Missing(std::move(value).error());
}

Result<Value> Machine::Call(ComputationId id, std::vector<Value> arguments) {
  // Calls nest as deep as the file likes; each level here is a few frames of our own stack.
  if (depth_ >= options_.limits.nesting) {
    return InputError(fmt::format("computations call one another more than {} levels deep",
                                  options_.limits.nesting),
                      "raise the limit nesting");
  }
  ++depth_;
  const hlo::Computation& computation = module_[id];
  const uint32_t first = computation.first_instruction;
  const Schedule& schedule = ScheduleOf(id);
  std::vector<Value> values(computation.instruction_count);
  std::vector<Value> operands;
  for (uint32_t position : schedule.order) {
    const InstructionId instruction(first + position);
    operands.clear();
    for (InstructionId operand : module_.operands(instruction)) {
      const uint32_t from = operand.index - first;
      operands.push_back(values[from]);
    }
    for (InstructionId operand : module_.operands(instruction)) {
      const uint32_t from = operand.index - first;
      if (schedule.last_use[from] == position) values[from] = Value();
    }
    Result<Value> value = RunInstruction(instruction, operands, arguments);
    if (!value.has_value()) {
      --depth_;
      return value;
    }
    values[position] = *std::move(value);
  }
  --depth_;
  return std::move(values[computation.root.index - first]);
}

}  // namespace hloscope::eval
