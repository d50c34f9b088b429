// Inputs to the devices of a run, and what it tells to the stream.
#include "core/backends/interpreter/module_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "core/base/counted.h"
#include "core/base/scope_exit.h"
#include "core/replay/capture/plan_observer.h"
#include "core/runtime/buffer_pool.h"
#include "core/runtime/recording.h"

namespace hloscope::replay {
namespace {

using hlo::InstructionId;
using hlo::Literal;
using hlo::Shape;

// Hands out the leaves of a value shaped `shape`; all leaves of what is missing are missing.
void EmitLeaves(const runtime::Value& value, const Shape& shape, int64_t device, int64_t& leaf,
                const CapturePlan& plan, InstructionId root, RunStream& stream) {
  if (!shape.IsTuple()) {
    return TellResult(stream, plan, root, {device, leaf++, value.ToLiteral()});
  }
  for (size_t i = 0; i < shape.elements().size(); ++i) {
    EmitLeaves(value.is_tuple() ? value.elements()[i] : value, shape.elements()[i], device, leaf,
               plan, root, stream);
  }
}

// The run of a device as a whole, and what of it lies before its first instruction and behind its
// last.
void EmitTraceAround(const TraceSteps& steps, std::span<const runtime::DeviceSpan> spans,
                     int64_t start, int64_t end, RunStream& stream) {
  const auto tell = [&](std::string_view what, int64_t from, int64_t to) {
    if (to <= from) return;
    stream.Take(TraceSlice{std::string(what),
                           std::string(kDeviceLane) + std::to_string(steps.device), from,
                           to - from});
  };
  tell(kRunSlice, start, end);
  if (spans.empty()) return;
  const runtime::DeviceSpan& own = spans[static_cast<size_t>(steps.device)];
  if (own.ended_ns == 0) return tell(kSetUpSlice, start, end);  // it never ran
  int64_t first_turn = own.begun_ns, all_ended = own.ended_ns;
  for (const runtime::DeviceSpan& other : spans) {
    if (other.ended_ns == 0) continue;
    first_turn = std::min(first_turn, other.begun_ns);
    all_ended = std::max(all_ended, other.ended_ns);
  }
  int64_t first = own.ended_ns, last = own.ended_ns;
  bool is_first = true;
  for (const runtime::RecordedStep& step : steps.steps.steps) {
    if (step.path != 0 || !step.instruction.valid()) continue;  // of the entry only
    if (is_first) first = step.start_ns;
    is_first = false;
    last = step.start_ns + step.duration_ns;
  }
  const bool waited = own.begun_ns > first_turn;
  tell(kSetUpSlice, start, waited ? first_turn : first);
  tell(kWaitSlice, first_turn, own.begun_ns);
  if (waited) tell(kSetUpSlice, own.begun_ns, first);
  tell(kEndSlice, last, all_ended > own.ended_ns ? own.ended_ns : end);
  if (all_ended == own.ended_ns) return;
  tell(kWaitSlice, own.ended_ns, all_ended);
  tell(kEndSlice, all_ended, end);
}

}  // namespace

ModuleRuns::ModuleRuns(std::shared_ptr<const hlo::Module> module, const RunOptions& options,
                       std::shared_ptr<const hlo::Module> rewritten)
    : module_(std::move(module)),
      rewritten_(std::move(rewritten)),
      limits_(options.limits),
      fill_elided_(options.load.fill_elided),
      topology_(hlo::TopologyOf(*module_, limits_.devices)) {
  static std::atomic<uint64_t> last_number = 0;
  if (rewritten_ != nullptr) rewritten_number_ = ++last_number;
}

Result<RunResult> ModuleRuns::Run(std::span<const std::vector<Literal>> inputs,
                                  const RunOptions& options, RunStream& stream, const Code& code) {
  const int64_t lists =
      topology_.counts.replicas * (topology_.unpartitioned ? 1 : topology_.counts.partitions);
  if (std::cmp_not_equal(inputs.size(), lists)) {
    return InputError(fmt::format("the module needs {} of inputs, got {}", Counted(lists, "list"),
                                  inputs.size()));
  }
  std::vector<std::vector<Literal>> arguments;
  for (const auto& list : inputs) {
    size_t next = 0;
    std::vector<Literal>& own = arguments.emplace_back();
    for (const Shape& shape : ParameterShapes(*module_)) {
      std::optional<Literal> literal = hlo::NestLeaves(shape, list, next);
      if (!literal) return InputError("fewer inputs than parameters");
      own.push_back(*std::move(literal));
    }
  }
  eval::EvaluateOptions how;
  how.memory_bytes = options.budget.memory_bytes;
  how.threads = options.budget.threads;
  how.deadline = options.budget.deadline;
  how.rng_seed = options.rng_seed;
  how.stop = options.budget.stop;
  how.limits = limits_;
  how.fill_elided = fill_elided_;
  how.infeed = options.feeds.take_infeed;
  how.outfeed = options.feeds.give_outfeed;
  how.compiled = code.compiled;
  if (const int64_t limit = runtime::MemoryLimitOf(how);
      pool_ == nullptr || pool_->limit_bytes() != limit) {
    pool_ = std::make_shared<runtime::BufferPool>(limit);
  }
  how.pool = pool_;
  runtime::Recording recording{.most_steps = options.record.steps, .devices = {}, .spans = {}};
  if (options.record.steps > 0) how.recording = &recording;
  if (!options.capture.wants_more_than_results())
    return Evaluate(arguments, how, code.body, options, stream);
  HLOSCOPE_ASSIGN_OR_RETURN(const auto observer,
                            PlanObserver::Make(*module_, options.capture, stream));
  how.observer = observer.get();
  auto result = Evaluate(arguments, how, code.body, options, stream);
  if (!result.has_value() && !observer->ended()) return result;
  observer->Finish();
  if (!result.has_value()) result = RunResult{.ended_by_plan = true};
  result->executions = observer->executions();
  return result;
}

Result<RunResult> ModuleRuns::Evaluate(std::span<const std::vector<Literal>> arguments,
                                       const eval::EvaluateOptions& how,
                                       const eval::DeviceBody& body, const RunOptions& options,
                                       RunStream& stream) const {
  const int64_t start_ns = runtime::SteadyNanoseconds();
  const auto evaluated = eval::EvaluateOnDevices(running(), topology_, arguments, how, body);
  const int64_t run_ns = runtime::SteadyNanoseconds() - start_ns;
  const OnScopeExit record([&] { EmitTraceRecording(how.recording, start_ns, run_ns, stream); });
  HLOSCOPE_ASSIGN_OR_RETURN(const eval::DeviceEvaluation& run, evaluated);
  const hlo::InstructionId root = module_->entry().root;
  for (int64_t device = 0; std::cmp_less(device, run.results.size()); ++device) {
    int64_t leaf = 0;
    EmitLeaves(run.results[static_cast<size_t>(device)], module_->shape(root), device, leaf,
               options.capture, root, stream);
  }
  for (const std::string& warning : run.warnings) stream.Take(RunWarning{warning});
  return RunResult{static_cast<double>(run_ns) / 1e3, run.peak_bytes};
}

// Behind the results; also of a run that came to no end.
void ModuleRuns::EmitTraceRecording(runtime::Recording* recording, int64_t start_ns, int64_t run_ns,
                                    RunStream& stream) const {
  if (recording == nullptr) return;
  std::vector<TraceSteps> devices;
  for (runtime::DeviceRecording& device : recording->devices) {
    devices.push_back({std::ssize(devices), std::move(device)});
  }
  EmitTraceSteps(std::move(devices), recording->spans, start_ns, run_ns, stream);
}

void ModuleRuns::EmitTraceSteps(std::vector<TraceSteps> devices,
                                std::span<const runtime::DeviceSpan> spans, int64_t start_ns,
                                int64_t run_ns, RunStream& stream) const {
  for (TraceSteps& steps : devices) {
    EmitTraceAround(steps, spans, start_ns, start_ns + run_ns, stream);
    steps.module_number = rewritten_number_;
    if (!std::exchange(has_told_rewritten_, true)) steps.module = rewritten_;
    stream.Take(std::move(steps));
  }
}

}  // namespace hloscope::replay
