// PlanRun: addresses, steps, loops and hand-overs.
#include "core/backends/compiled/plan_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <utility>

#include "core/base/counted.h"
#include "core/base/scope_exit.h"
#include "core/base/work_count.h"
#include "core/compile/plan/kernel_bytes.h"
#include "core/eval/machine/indices.h"
#include "core/eval/machine/loop_watch.h"

namespace hloscope::replay {

using compile::BufferNumber;
using compile::KernelCode;
using compile::Place;
using compile::PlannedBuffer;
using compile::PlannedStep;
using compile::SequenceNumber;
using compile::StepKind;
using hlo::InstructionId;
using hlo::Shape;
using runtime::Buffer;
using runtime::Value;

namespace {

// What one thread takes at a time: long enough to be worth handing out, short enough to share.
constexpr int64_t kBytesPerTurn = int64_t{256} << 10;
// As many turns of a loop pass between looks at the clock.
constexpr int64_t kMaxIterations = 1 << 16;
// Of those, so many one by one, where what decides how often the loop runs is not larger.
constexpr int64_t kWatchedTurns = 1 << 10;
// A loop that is one function is watched once a run of its iterations took so long: looking at each
// takes longer than many of them.
constexpr std::chrono::milliseconds kUnwatchedTime{1};
constexpr int64_t kMaxStateBytes = 1 << 16;

}  // namespace

Status RunCode(const KernelCode& code, eval::Machine& machine, const std::byte* const* operands,
               std::byte* const* results, std::byte* scratch) {
  if (code.library != nullptr) HLOSCOPE_TRY(code.library->Prepare(operands, scratch));
  int64_t per_turn = std::max<int64_t>(1, kBytesPerTurn / std::max<int64_t>(1, code.grain_bytes));
  if (code.calls_are_alike) {
    per_turn = std::max(per_turn, (code.grains - 1) / machine.run().threads() + 1);
  }
  HLOSCOPE_TRY(machine.ForRanges(code.grains, per_turn, [&](IndexRange range) -> Status {
    if (code.library != nullptr) {
      return code.library->Run(operands, results, scratch, range.begin, range.end);
    }
    code.run(operands, results, scratch, range.begin, range.end);
    return {};
  }));
  if (code.finish != nullptr) code.finish(operands, results, scratch, 0, code.grains);
  return {};
}

Result<std::optional<Value>> PlanRun::Run(std::span<const Value> arguments) {
  addresses_.assign(plan_.buffers.size(), nullptr);
  values_.resize(plan_.buffers.size());
  HLOSCOPE_TRY(Allocate());
  HLOSCOPE_ASSIGN_OR_RETURN(const bool is_bound, Bind(arguments));
  if (!is_bound) return std::nullopt;
  HLOSCOPE_ASSIGN_OR_RETURN(const bool is_done, RunAll());
  if (!is_done) return std::nullopt;
  HLOSCOPE_ASSIGN_OR_RETURN(Value root, TakeRoot());
  return root;
}

Result<Value> PlanRun::TakeRoot() {
  for (BufferNumber b = 0; b < plan_.buffers.size(); ++b) {
    const PlannedBuffer& buffer = plan_.buffers[b];
    if (buffer.place != Place::kResult) continue;
    Shape bytes = Shape::Array(hlo::ElementType::kU8, {buffer.bytes});
    values_[b] =
        Value::Array(std::move(bytes), std::move(results_[static_cast<size_t>(buffer.at)]));
  }
  size_t next = 0;
  const InstructionId root = (*plan_.module)[plan_.computation].root;
  return ValueOf(plan_.module->shape(root), plan_.results, next);
}

Result<bool> PlanRun::Bind(std::span<const Value> arguments) {
  const auto parameters = plan_.module->Parameters(plan_.computation);
  size_t next = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Shape& shape = plan_.module->shape(parameters[i]);
    HLOSCOPE_ASSIGN_OR_RETURN(const bool is_taken,
                              TakeLeaves(arguments[i], shape, plan_.parameters, next));
    if (!is_taken) return false;
  }
  return true;
}

Status PlanRun::Allocate() {
  HLOSCOPE_ASSIGN_OR_RETURN(arena_, machine_.Allocate(plan_.arena_bytes));
  HLOSCOPE_ASSIGN_OR_RETURN(scratch_, machine_.Allocate(code_.scratch_bytes));
  results_.resize(static_cast<size_t>(plan_.result_buffers));
  for (BufferNumber b = 0; b < plan_.buffers.size(); ++b) {
    const PlannedBuffer& buffer = plan_.buffers[b];
    switch (buffer.place) {
      case Place::kArena:
        addresses_[b] = arena_.data() + buffer.at;
        break;
      case Place::kResult: {
        Buffer& result = results_[static_cast<size_t>(buffer.at)];
        HLOSCOPE_ASSIGN_OR_RETURN(result, machine_.Allocate(buffer.bytes));
        addresses_[b] = result.data();
        break;
      }
      case Place::kConstant: {
        const InstructionId id(static_cast<uint32_t>(buffer.at));
        const auto* literal =
            plan_.module->Get<hlo::Literal>((*plan_.module)[id], hlo::AttributeKey::kConstantValue);
        values_[b] = Value::FromLiteral(*literal);
        addresses_[b] = const_cast<std::byte*>(values_[b].data());
        break;
      }
      case Place::kParameter:
      case Place::kOutside:
        break;
    }
  }
  for (const Buffer& result : results_) results_by_address_.push_back(&result);
  std::ranges::sort(results_by_address_, std::less<>(), &Buffer::data);
  return {};
}

// Of recordings: copies into the state of a loop and out of branches.
bool PlanRun::IsPartOfNext(const PlannedStep& step) const {
  if (step.kind != StepKind::kCopy) return false;
  const hlo::Opcode opcode = (*plan_.module)[step.id].opcode;
  return opcode == hlo::Opcode::kWhile || opcode == hlo::Opcode::kConditional;
}

Result<bool> PlanRun::RunSequence(SequenceNumber sequence) {
  runtime::StepRecorder* const recorder = machine_.recorder();
  if (recorder != nullptr) recorder->Enter(frames_);
  const OnScopeExit leave([recorder] {
    if (recorder != nullptr) recorder->Leave();
  });
  for (const PlannedStep& step : plan_.sequences[sequence]) {
    const Result<bool> is_done = RunStep(step);
    if (recorder != nullptr && !IsPartOfNext(step)) recorder->Ended(step.id);
    if (!is_done.has_value() || !*is_done) return is_done;
  }
  return true;
}

Result<bool> PlanRun::RunStep(const PlannedStep& step) {
  switch (step.kind) {
    case StepKind::kKernel:
    case StepKind::kLibraryCall:
      if (code_.kernels[step.id.index] == nullptr) return Evaluate(step);
      HLOSCOPE_TRY(RunKernel(step));
      return true;
    case StepKind::kCopy:
      ++counts_.copies;
      HLOSCOPE_TRY(Copy(step.results[0], step.operands[0]));
      return true;
    case StepKind::kWhile:
      return RunLoop(step);
    case StepKind::kConditional:
      return RunBranch(step);
    case StepKind::kEvaluate:
      return Evaluate(step);
  }
  return true;
}

Status PlanRun::Copy(BufferNumber to, BufferNumber from) {
  return machine_.ForRanges(
      plan_.buffers[to].bytes, kBytesPerTurn, [&](IndexRange range) -> Status {
        std::memcpy(addresses_[to] + range.begin, addresses_[from] + range.begin,
                    static_cast<size_t>(range.end - range.begin));
        return {};
      });
}

Status PlanRun::RunKernel(const PlannedStep& step) {
  const KernelCode& code = *code_.kernels[step.id.index];
  pointers_.clear();
  for (const BufferNumber b : step.operands) pointers_.push_back(addresses_[b]);
  int64_t bytes = 0;
  for (const BufferNumber b : step.results) {
    pointers_.push_back(addresses_[b]);
    bytes += plan_.buffers[b].bytes;
  }
  if (!code.in_place.empty()) bytes = compile::WrittenBytes(*plan_.module, step.id);
  HLOSCOPE_TRY(Charge(1 + bytes / compile::kBytesPerElement));
  counts_.Add(code);
  return RunCode(code, machine_, pointers_.data(), pointers_.data() + step.operands.size(),
                 scratch_.data());
}

// Turns come in runs; between them the loop is looked at, and some are watched one by one: state
// that comes round does so for ever, which the evaluator has words for.
Result<bool> PlanRun::RunLoop(const PlannedStep& step) {
  if (code_.loops.contains(step.number)) ++counts_.kernels;
  bool has_ended = false;
  int64_t ran = 0;
  bool is_watched = !code_.loops.contains(step.number);
  std::optional<std::vector<BufferNumber>> deciding;  // of a loop that is watched
  if (is_watched) deciding = DecidingBuffers(step);
  for (int64_t iterations = kWatchedTurns;; iterations = std::min(2 * iterations, kMaxIterations)) {
    HLOSCOPE_TRY(LookAtLoop(step, ran, iterations));
    const auto begin = std::chrono::steady_clock::now();
    HLOSCOPE_ASSIGN_OR_RETURN(bool is_done, RunIterations(step, ran, iterations, has_ended));
    if (!is_done || has_ended) return is_done;
    ran += iterations;
    if (!is_watched && std::chrono::steady_clock::now() - begin > kUnwatchedTime) {
      is_watched = true;
      deciding = DecidingBuffers(step);
    }
    if (!deciding) continue;
    HLOSCOPE_ASSIGN_OR_RETURN(const std::vector<std::byte> before, BytesOf(*deciding));
    for (int64_t turn = 0; turn < kWatchedTurns; ++turn, ++ran) {
      HLOSCOPE_ASSIGN_OR_RETURN(is_done, RunIterations(step, ran, 1, has_ended));
      if (!is_done || has_ended) return is_done;
      HLOSCOPE_ASSIGN_OR_RETURN(const std::vector<std::byte> now, BytesOf(*deciding));
      if (now == before) return false;
    }
  }
}

// A run that has to end says how far its loops were.
Status PlanRun::LookAtLoop(const PlannedStep& step, int64_t ran, int64_t iterations) {
  Status status = Charge(iterations);
  if (status.has_value()) status = machine_.run().Look();
  if (status.has_value()) return status;
  Error error = std::move(status).error();
  error.message +=
      fmt::format("; {} had run {}", plan_.module->name(step.id), Counted(ran, "iteration"));
  return std::unexpected(std::move(error));
}

Result<bool> PlanRun::RunIterations(const PlannedStep& step, int64_t ran, int64_t iterations,
                                    bool& has_ended) {
  if (const auto found = code_.loops.find(step.number); found != code_.loops.end()) {
    const compile::LoopCode* const code = found->second;
    compile::LoopProgress progress{.iterations_left = iterations, .inner = 0};
    while (true) {
      has_ended = code->run(addresses_.data(), arena_.data(), scratch_.data(), &progress);
      if (has_ended || progress.inner == 0) return true;
      HLOSCOPE_TRY(LookAtLoop(step, ran + iterations - progress.iterations_left, 1));
    }
  }
  frames_.push_back({step.id, ran});
  const OnScopeExit leave([this] { frames_.pop_back(); });
  for (int64_t turn = 0; turn < iterations; ++turn, ++frames_.back().iteration) {
    HLOSCOPE_ASSIGN_OR_RETURN(const bool is_decided, RunSequence(step.sequences[0]));
    if (!is_decided) return false;
    HLOSCOPE_ASSIGN_OR_RETURN(const std::vector<std::byte> decision, BytesOf(step.operands[0]));
    has_ended = std::to_integer<uint8_t>(decision[0]) == 0;
    if (has_ended) return true;
    HLOSCOPE_ASSIGN_OR_RETURN(const bool is_done, RunSequence(step.sequences[1]));
    if (!is_done) return false;
  }
  return true;
}

std::optional<std::vector<BufferNumber>> PlanRun::DecidingBuffers(const PlannedStep& loop) const {
  const hlo::Module& module = *plan_.module;
  const auto elements = eval::DecidingElements(
      module, module.GetComputation(module[loop.id], hlo::AttributeKey::kCondition),
      module.GetComputation(module[loop.id], hlo::AttributeKey::kBody));
  std::vector<BufferNumber> out;
  int64_t bytes = 0;
  const auto take = [&](size_t first, size_t end) {
    for (size_t i = first; i < end; ++i) {
      out.push_back(loop.results[i]);
      bytes += plan_.buffers[loop.results[i]].bytes;
    }
  };
  if (!elements) {
    take(0, loop.results.size());
  } else {
    const Shape& state = module.shape(loop.id);
    for (size_t e = 0; e < state.elements().size(); ++e) {
      const auto [first, end] = state.ElementLeaves(e);
      if (std::ranges::binary_search(*elements, e)) take(first, end);
    }
  }
  if (bytes > kMaxStateBytes) return std::nullopt;
  return out;
}

Result<std::vector<std::byte>> PlanRun::BytesOf(BufferNumber b) const {
  return std::vector<std::byte>(addresses_[b], addresses_[b] + plan_.buffers[b].bytes);
}

Result<std::vector<std::byte>> PlanRun::BytesOf(const std::vector<BufferNumber>& buffers) const {
  std::vector<std::byte> out;
  for (const BufferNumber b : buffers) {
    HLOSCOPE_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, BytesOf(b));
    out.insert(out.end(), bytes.begin(), bytes.end());
  }
  return out;
}

Result<bool> PlanRun::RunBranch(const PlannedStep& step) {
  const hlo::Shape& shape = plan_.module->shape(plan_.module->operands(step.id)[0]);
  const auto count = std::ssize(step.sequences);
  HLOSCOPE_ASSIGN_OR_RETURN(const Value decision, ValueOf(step.operands[0], shape));
  const int64_t branch = eval::TakenBranch(decision, count);
  if (branch >= count) return false;
  HLOSCOPE_TRY(Charge(1));
  frames_.push_back({step.id, 0});
  const OnScopeExit leave([this] { frames_.pop_back(); });
  return RunSequence(step.sequences[static_cast<size_t>(branch)]);
}

Result<bool> PlanRun::Evaluate(const PlannedStep& step) {
  const auto of = plan_.module->operands(step.id);
  std::vector<Value> operands;
  size_t next = 0;
  for (const InstructionId operand : of) {
    HLOSCOPE_ASSIGN_OR_RETURN(operands.emplace_back(),
                              ValueOf(plan_.module->shape(operand), step.operands, next));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const Value value, machine_.EvaluateInstruction(step.id, operands));
  next = 0;
  return TakeLeaves(value, plan_.module->shape(step.id), step.results, next);
}

Result<Value> PlanRun::ValueOf(BufferNumber b, const Shape& shape) {
  if (shape.IsToken()) return Value::Token();
  const Value& value = values_[b];
  if (value.is_array()) return value.shape() == shape ? value : value.WithShape(shape);
  const auto bytes = static_cast<size_t>(plan_.buffers[b].bytes);
  return Value::Array(hlo::Literal::View(shape, {addresses_[b], bytes}, nullptr));
}

Result<Value> PlanRun::ValueOf(const Shape& shape, std::span<const BufferNumber> buffers,
                               size_t& next) {
  if (!shape.IsTuple()) return ValueOf(buffers[next++], shape);
  std::vector<Value> elements;
  for (const Shape& element : shape.elements()) {
    HLOSCOPE_ASSIGN_OR_RETURN(elements.emplace_back(), ValueOf(element, buffers, next));
  }
  return Value::Tuple(std::move(elements));
}

// False where an array is missing or not of its declared size.
Result<bool> PlanRun::TakeLeaves(const Value& value, const Shape& shape,
                                 std::span<const BufferNumber> buffers, size_t& next) {
  if (shape.IsTuple()) {
    if (!value.is_tuple() || value.elements().size() != shape.elements().size()) return false;
    for (size_t i = 0; i < shape.elements().size(); ++i) {
      HLOSCOPE_ASSIGN_OR_RETURN(
          const bool is_taken, TakeLeaves(value.elements()[i], shape.elements()[i], buffers, next));
      if (!is_taken) return false;
    }
    return true;
  }
  const BufferNumber b = buffers[next++];
  if (shape.IsToken()) return true;
  if (!value.is_array() || !value.literal().dynamic_sizes().empty() ||
      std::cmp_not_equal(value.literal().bytes().size(), plan_.buffers[b].bytes)) {
    return false;
  }
  HLOSCOPE_TRY(TakeLeaf(value, b));
  return true;
}

Status PlanRun::TakeLeaf(const Value& value, BufferNumber b) {
  // A hand-over's result in memory that is written again later is copied out of it.
  const PlannedBuffer& buffer = plan_.buffers[b];
  if (buffer.place == Place::kArena || buffer.place == Place::kResult) {
    if (buffer.bytes > 0) {
      std::memcpy(addresses_[b], value.data(), static_cast<size_t>(buffer.bytes));
    }
    return {};
  }
  values_[b] = value;
  if (IsOurs(value.data())) {
    HLOSCOPE_ASSIGN_OR_RETURN(values_[b], OwnBytes(value));
  }
  addresses_[b] = const_cast<std::byte*>(values_[b].data());
  return {};
}

Result<Value> PlanRun::OwnBytes(const Value& array) {
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, machine_.Allocate(array.shape()));
  std::memcpy(buffer.data(), array.data(), buffer.size);
  return Value::Array(array.shape(), std::move(buffer));
}

bool PlanRun::IsOurs(const std::byte* data) const {
  const auto is_in = [&](const Buffer& buffer) {
    CountWork(1);
    return std::less_equal<>()(buffer.data(), data) &&
           std::less<>()(data, buffer.data() + buffer.size);
  };
  if (is_in(arena_)) return true;
  const auto behind =
      std::ranges::upper_bound(results_by_address_, data, std::less<>(), &Buffer::data);
  return behind != results_by_address_.begin() && is_in(**std::prev(behind));
}

}  // namespace hloscope::replay
