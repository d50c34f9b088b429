// DeviceRun: allocations, steps, launches and hand-overs.
#include "core/backends/gpusim/device_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>
#include <utility>

#include "core/backends/gpusim/device_arrays.h"
#include "core/base/counted.h"
#include "core/base/scope_exit.h"
#include "core/eval/machine/indices.h"

namespace hloscope::replay {

using hlo::InstructionId;
using hlo::Opcode;
using hlo::Shape;
using runtime::Value;

namespace {

// What nobody wrote yet: a NaN to every type of floats, and no small index.
constexpr int kPoison = 0xff;
// Kernels read whole vectors up to here behind the end of an array (see ptx::Argument).
constexpr int64_t kPadding = 256;

}  // namespace

Result<Value> DeviceRun::Run(std::span<const Value> arguments) {
  if (observer_ != nullptr) {
    results_of_.resize(program_.module->instructions().size());
    for (const auto& sequence : program_.sequences) {
      for (const DeviceStep& step : sequence) results_of_[step.id.index] = &step.results;
    }
  }
  HLOSCOPE_TRY(Allocate());
  HLOSCOPE_TRY(WriteInputs(arguments));
  HLOSCOPE_TRY(RunSequence(0));
  CheckResults();
  // XLA is sometimes given a module whose result is in a tuple of its own.
  const Shape& shape = program_.module->shape(program_.module->entry().root);
  const Shape& wanted = loaded_.result_shape;
  size_t next = 0;
  if (wanted.IsTuple() || !shape.IsTuple()) return ValueOf(shape, program_.results, next);
  return ValueOf(shape.elements()[0], program_.results, next);
}

void DeviceRun::CheckResults() {
  const std::string root(program_.module->name(program_.module->entry().root));
  for (size_t i = 0; i < program_.results.size(); ++i) {
    const Slice& slice = program_.results[i];
    if (slice.known()) checks_.CheckResult(root, i, {At(slice), static_cast<size_t>(slice.bytes)});
  }
}

Status DeviceRun::Allocate() {
  for (size_t i = 0; i < program_.allocations.size(); ++i) {
    const int64_t bytes = program_.allocations[i];
    const int64_t padded = (bytes + kPadding - 1) / kPadding * kPadding + kPadding;
    auto allocated = machine_.Allocate(padded);
    if (!allocated.has_value()) {
      allocated.error().message.insert(
          0, fmt::format("allocation {} of the buffer assignment takes {}: ", i,
                         Counted(bytes, "byte")));
      return std::unexpected(std::move(allocated).error());
    }
    runtime::Buffer buffer = *std::move(allocated);
    std::memset(buffer.data(), kPoison, static_cast<size_t>(padded));
    checks_.Allocated({buffer.data(), static_cast<size_t>(padded)});
    allocations_.push_back(std::move(buffer));
  }
  return {};
}

Status DeviceRun::WriteInputs(std::span<const Value> arguments) {
  const auto parameters = program_.module->Parameters(program_.module->entry_id());
  size_t next = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    HLOSCOPE_TRY(
        Store(arguments[i], program_.module->shape(parameters[i]), program_.parameters, next));
  }
  for (const auto& [id, slice] : program_.constants) {
    HLOSCOPE_ASSIGN_OR_RETURN(const Value value, machine_.EvaluateInstruction(id, {}));
    next = 0;
    HLOSCOPE_TRY(Store(value, program_.module->shape(id), std::span(&slice, 1), next));
  }
  return {};
}

Status DeviceRun::RunSequence(uint32_t sequence) {
  if (recorder_ != nullptr) recorder_->Enter(frames_);
  const OnScopeExit leave([this] {
    if (recorder_ != nullptr) recorder_->Leave();
  });
  for (const DeviceStep& step : program_.sequences[sequence]) {
    HLOSCOPE_TRY(RunStep(step));
    // Launches are told one by one.
    const bool is_step = step.launches.empty() && step.kind != DeviceStepKind::kNothing;
    if (recorder_ != nullptr && is_step) recorder_->Ended(step.id);
  }
  return {};
}

Status DeviceRun::RunStep(const DeviceStep& step) {
  HLOSCOPE_TRY(machine_.Charge(1));
  return observer_ != nullptr && observer_->Wants(step) ? RunObserved(step) : DoStep(step);
}

// Operands are read first: a step may write over them.
Status DeviceRun::RunObserved(const DeviceStep& step) {
  const std::vector<Value> operands = OperandsOf(step);
  const int64_t start = runtime::SteadyNanoseconds();
  const Status done = DoStep(step);
  const int64_t duration = runtime::SteadyNanoseconds() - start;
  const runtime::Site site{step.id, machine_.device(), frames_};
  if (!done.has_value()) {
    observer_->OnFailure(step, site, operands);
    return done;
  }
  size_t next = 0;
  const Value result = ValueOf(program_.module->shape(step.id), step.results, next);
  return observer_->OnStep({step, site, operands, result, duration, machine_});
}

Status DeviceRun::DoStep(const DeviceStep& step) {
  switch (step.kind) {
    case DeviceStepKind::kKernels:
      return RunKernels(step);
    case DeviceStepKind::kCopy:
    case DeviceStepKind::kEvaluate:
      return Evaluate(step);
    case DeviceStepKind::kWhile:
      return RunLoop(step);
    case DeviceStepKind::kConditional:
      return RunBranch(step);
    case DeviceStepKind::kCall:
      return RunCallee(step, 0);
    case DeviceStepKind::kNothing:
      return {};
  }
  return {};
}

Status DeviceRun::RunCallee(const DeviceStep& step, size_t callee, int64_t iteration) {
  frames_.push_back({step.id, iteration});
  const OnScopeExit pop([&] { frames_.pop_back(); });
  return RunSequence(step.sequences[callee]);
}

Status DeviceRun::RunKernels(const DeviceStep& step) {
  for (const auto& [from, to] : step.copies) {
    const auto bytes = static_cast<size_t>(std::min(from.bytes, to.bytes));
    std::memmove(At(to), At(from), bytes);
    checks_.Copied(At(from), At(to), bytes);
  }
  for (const KernelLaunch& launch : step.launches) {
    HLOSCOPE_TRY(Launch(step, launch));
    ++counts_.kernels;
  }
  return {};
}

std::string DeviceRun::NameOf(const DeviceStep& step, const Slice& slice) const {
  const hlo::Module& module = *program_.module;
  size_t next = 0;
  for (const InstructionId operand : module.operands(step.id)) {
    const size_t leaves = module.shape(operand).LeafCount();
    for (size_t i = 0; i < leaves && next < step.operands.size(); ++i) {
      if (step.operands[next++] == slice) return fmt::format("operand {}", module.name(operand));
    }
  }
  const auto result = std::ranges::find(step.results, slice);
  return step.results.size() < 2 ? "the result"
                                 : fmt::format("result {}", result - step.results.begin());
}

Status DeviceRun::Launch(const DeviceStep& step, const KernelLaunch& launch) {
  const auto extent = [](const dump::Extent3& e) {
    return std::array{static_cast<uint32_t>(e[0]), static_cast<uint32_t>(e[1]),
                      static_cast<uint32_t>(e[2])};
  };
  ptx::LaunchRequest request;
  request.entry = launch.kernel;
  request.grid = extent(launch.blocks);
  request.block = extent(launch.threads);
  request.dynamic_shared_bytes = static_cast<uint64_t>(launch.shared_bytes);
  request.devices = static_cast<uint64_t>(program_.module->header().replica_count *
                                          program_.module->header().num_partitions);
  for (const Slice& slice : launch.arguments) {
    request.arguments.push_back({{At(slice), static_cast<size_t>(slice.bytes)}, {}});
  }
  if (const auto maps = loaded_.maps.find(launch.kernel); maps != loaded_.maps.end()) {
    for (size_t i = 0; i < maps->second.size(); ++i) request.arguments[i].map = maps->second[i];
  }
  ptx::LaunchOptions options;
  options.threads = machine_.options().threads;
  if (options.threads == 0) options.threads = static_cast<int>(std::thread::hardware_concurrency());
  options.deadline = machine_.options().deadline;
  options.stop = machine_.options().stop;
  options.count_traffic = recorder_ != nullptr;
  options.count_lines = recorder_ != nullptr && recorder_->counts_lines();
  if (observer_ != nullptr) options.changer = observer_->changer();
  const LaunchedFor launched{std::string(program_.module->name(step.id)),
                             [&](size_t i) { return NameOf(step, launch.arguments[i]); }};
  HLOSCOPE_ASSIGN_OR_RETURN(
      const ptx::LaunchResult result,
      checks_.Launch(launched, loaded_.code[static_cast<size_t>(launch.code)], request, options));
  if (!result.fault) {
    if (recorder_ != nullptr) recorder_->Launched(step.id, launch, result);
    return {};
  }
  std::string text = result.fault->ToString();
  text.erase(0, result.fault->place.ToString().size() + 2);  // the error has it too
  return std::unexpected(
      Error{ErrorClass::kCrashed, fmt::format("{}, for {}", text, launched.instruction),
            result.fault->place, "a real device would go on with damaged memory, or stop"});
}

Status DeviceRun::RunLoop(const DeviceStep& step) {
  for (int64_t turn = 0;; ++turn) {
    Status status = machine_.run().Look();
    if (status.has_value()) status = machine_.Charge(1);
    if (!status.has_value()) {
      Error error = std::move(status).error();
      error.message += fmt::format("; {} had run {}", program_.module->name(step.id),
                                   Counted(turn, "iteration"));
      return std::unexpected(std::move(error));
    }
    HLOSCOPE_TRY(RunCallee(step, 0, turn));
    if (*At(step.predicate) == std::byte{0}) return {};
    HLOSCOPE_TRY(RunCallee(step, 1, turn));
  }
}

Status DeviceRun::RunBranch(const DeviceStep& step) {
  const Shape& shape = program_.module->shape(program_.module->operands(step.id)[0]);
  size_t next = 0;
  const Value selector = ValueOf(shape, step.operands, next);
  if (selector.is_missing()) return std::unexpected(selector.error());
  const auto count = std::ssize(step.sequences);
  const int64_t branch = eval::TakenBranch(selector, count);
  if (branch < 0 || branch >= count) {
    return UnsupportedError(fmt::format("{} has no such branch", program_.module->name(step.id)));
  }
  return RunCallee(step, static_cast<size_t>(branch));
}

Status DeviceRun::Evaluate(const DeviceStep& step) {
  const hlo::Module& module = *program_.module;
  std::vector<Value> operands = OperandsOf(step);
  const Opcode opcode = module[step.id].opcode;
  Value value;
  const int64_t start = runtime::SteadyNanoseconds();
  if (opcode == Opcode::kCopy) {
    value = operands[0];
  } else {
    HLOSCOPE_ASSIGN_OR_RETURN(value, machine_.EvaluateInstruction(step.id, operands));
  }
  if (step.kind == DeviceStepKind::kCopy) {
    ++counts_.copies;
  } else if (!value.is_missing()) {
    counts_.evaluated.Add(step.id, runtime::SteadyNanoseconds() - start);
  }
  size_t next = 0;
  return Store(value, module.shape(step.id), step.results, next);
}

std::vector<Value> DeviceRun::OperandsOf(const DeviceStep& step) const {
  const hlo::Module& module = *program_.module;
  std::vector<Value> operands;
  size_t next = 0;
  for (const InstructionId operand : module.operands(step.id)) {
    if (step.kind == DeviceStepKind::kNothing) {  // where the step that made it has it
      next = 0;
      operands.push_back(ValueOf(module.shape(operand), *results_of_[operand.index], next));
    } else {
      operands.push_back(ValueOf(module.shape(operand), step.operands, next));
    }
  }
  return operands;
}

Value DeviceRun::ValueOf(const Shape& shape, std::span<const Slice> leaves, size_t& next) const {
  if (shape.IsTuple()) {
    std::vector<Value> elements;
    for (const Shape& element : shape.elements())
      elements.push_back(ValueOf(element, leaves, next));
    return Value::Tuple(std::move(elements));
  }
  const Slice& slice = leaves[next++];
  if (shape.IsToken()) return Value::Token();
  if (!slice.known()) {
    return Value::Missing(InputError("the buffer assignment has no buffer for it").error());
  }
  auto literal = ReadDeviceArray(shape, {At(slice), static_cast<size_t>(slice.bytes)});
  if (!literal.has_value()) return Value::Missing(std::move(literal).error());
  return Value::Array(*std::move(literal));
}

Status DeviceRun::Store(const Value& value, const Shape& shape, std::span<const Slice> leaves,
                        size_t& next) {
  if (value.is_missing()) return std::unexpected(value.error());
  if (shape.IsTuple()) {
    const auto elements = shape.elements();
    if (!value.is_tuple() || value.elements().size() != elements.size()) {
      return InternalError("the parts of a value do not match its shape");
    }
    for (size_t i = 0; i < elements.size(); ++i) {
      HLOSCOPE_TRY(Store(value.elements()[i], elements[i], leaves, next));
    }
    return {};
  }
  const Slice& slice = leaves[next++];
  if (shape.IsToken() || !slice.known() || !value.is_array() || value.shape().IsToken()) return {};
  checks_.Written({At(slice), static_cast<size_t>(slice.bytes)});
  return WriteDeviceArray(value.literal(), shape, {At(slice), static_cast<size_t>(slice.bytes)});
}

}  // namespace hloscope::replay
