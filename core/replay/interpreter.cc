// The interpreter row: the reference evaluator as a platform.
#include <fmt/format.h>

#include "core/base/scope_exit.h"
#include "core/eval/machine/evaluator.h"
#include "core/hlo/sharding/topology.h"
#include "core/replay/capture/plan_observer.h"
#include "core/replay/platform.h"

namespace hloscope::replay {
namespace {

using hlo::Literal;
using hlo::Shape;

// Hands out the leaves of a value shaped `shape`; all leaves of what is missing are missing.
void EmitLeaves(const eval::Value& value, const Shape& shape, int64_t device, int64_t& leaf,
                const CapturePlan& plan, hlo::InstructionId root, RunStream& stream) {
  if (!shape.IsTuple()) {
    return TellResult(stream, plan, root, {device, leaf++, value.ToLiteral()});
  }
  for (size_t i = 0; i < shape.elements().size(); ++i) {
    EmitLeaves(value.is_tuple() ? value.elements()[i] : value, shape.elements()[i], device, leaf,
               plan, root, stream);
  }
}

class InterpreterExecutable : public Executable {
 public:
  InterpreterExecutable(std::shared_ptr<const hlo::Module> module, const RunOptions& options)
      : module_(std::move(module)),
        limits_(options.limits),
        fill_elided_(options.fill_elided),
        topology_(hlo::TopologyOf(*module_, limits_.devices)) {}

  Result<RunResult> Run(std::span<const std::vector<Literal>> inputs, const RunOptions& options,
                        RunStream& stream) override {
    const int64_t lists =
        topology_.counts.replicas * (topology_.unpartitioned ? 1 : topology_.counts.partitions);
    if (std::cmp_not_equal(inputs.size(), lists)) {
      return InputError(
          fmt::format("the module needs {} lists of inputs, got {}", lists, inputs.size()));
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
    how.memory_bytes = options.memory_bytes;
    how.threads = options.threads;
    how.deadline = options.deadline;
    how.rng_seed = options.rng_seed;
    how.stop = options.stop;
    how.limits = limits_;
    how.fill_elided = fill_elided_;
    how.infeed = options.take_infeed;
    how.outfeed = options.give_outfeed;
    eval::Recording recording{.most_steps = options.record_steps, .devices = {}};
    if (options.record_steps > 0) how.recording = &recording;
    if (!options.capture.wants_more_than_results())
      return Evaluate(arguments, how, options, stream);
    HLOSCOPE_ASSIGN_OR_RETURN(const auto observer,
                              PlanObserver::Make(*module_, options.capture, stream));
    how.observer = observer.get();
    auto result = Evaluate(arguments, how, options, stream);
    if (!result.has_value() && !observer->ended()) return result;
    observer->Finish();
    if (!result.has_value()) result = RunResult{.ended_by_plan = true};
    result->executions = observer->executions();
    return result;
  }

 private:
  Result<RunResult> Evaluate(std::span<const std::vector<Literal>> arguments,
                             const eval::EvaluateOptions& how, const RunOptions& options,
                             RunStream& stream) const {
    const int64_t start_ns = eval::SteadyNanoseconds();
    const auto evaluated = eval::EvaluateOnDevices(*module_, topology_, arguments, how);
    const int64_t run_ns = eval::SteadyNanoseconds() - start_ns;
    const OnScopeExit record([&] { TellRecording(how.recording, start_ns, run_ns, stream); });
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
  static void TellRecording(eval::Recording* recording, int64_t start_ns, int64_t run_ns,
                            RunStream& stream) {
    if (recording == nullptr) return;
    for (size_t d = 0; d < recording->devices.size(); ++d) {
      stream.Take(TraceSlice{std::string(kRunSlice), std::string(kDeviceLane) + std::to_string(d),
                             start_ns, run_ns});
      stream.Take(TraceSteps{static_cast<int64_t>(d), std::move(recording->devices[d])});
    }
  }

  std::shared_ptr<const hlo::Module> module_;
  Limits limits_;
  std::optional<uint64_t> fill_elided_;
  hlo::Topology topology_;
};

class Interpreter : public Platform {
 public:
  explicit Interpreter(std::string_view name) : name_(name) {}
  std::string_view name() const override { return name_; }
  Result<std::unique_ptr<Executable>> Load(std::shared_ptr<const hlo::Module> module,
                                           const RunOptions& options) override {
    return std::make_unique<InterpreterExecutable>(std::move(module), options);
  }

 private:
  std::string_view name_;
};

}  // namespace

std::unique_ptr<Platform> MakeInterpreter(const PlatformRow& row, std::string_view) {
  return std::make_unique<Interpreter>(row.name);
}

}  // namespace hloscope::replay
