// The interpreter row: the reference evaluator as a platform.
#include <fmt/format.h>

#include <chrono>

#include "core/eval/machine/evaluator.h"
#include "core/hlo/sharding/topology.h"
#include "core/replay/platform.h"

namespace hloscope::replay {
namespace {

using Clock = std::chrono::steady_clock;
using hlo::Literal;
using hlo::Shape;

// Hands out the leaves of a value shaped `shape`; all leaves of what is missing are missing.
void EmitLeaves(const eval::Value& value, const Shape& shape, int64_t device, int64_t& leaf,
                RunSink& sink) {
  if (!shape.IsTuple()) return sink.OnResult(device, leaf++, value.ToLiteral());
  for (size_t i = 0; i < shape.elements().size(); ++i) {
    EmitLeaves(value.is_tuple() ? value.elements()[i] : value, shape.elements()[i], device, leaf,
               sink);
  }
}

class InterpreterExecutable : public Executable {
 public:
  InterpreterExecutable(std::shared_ptr<const hlo::Module> module, LoadOptions options)
      : module_(std::move(module)),
        options_(std::move(options)),
        topology_(hlo::TopologyOf(*module_, options_.limits.devices)) {}

  Result<RunResult> Run(std::span<const std::vector<Literal>> inputs, const RunOptions& options,
                        RunSink& sink, std::stop_token stop) override {
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
    const Clock::time_point start = Clock::now();
    eval::EvaluateOptions how;
    how.limits = options_.limits;
    how.stop = std::move(stop);
    how.fill_elided = options_.fill_elided;
    how.rng_seed = options.rng_seed;
    how.memory_bytes = options.memory_bytes;
    how.threads = options.threads;
    how.deadline = options.deadline;
    how.infeed = options.infeed;
    how.outfeed = options.outfeed;
    how.observer = options.observer;
    HLOSCOPE_ASSIGN_OR_RETURN(const eval::DeviceEvaluation run,
                              eval::EvaluateOnDevices(*module_, topology_, arguments, how));
    const std::chrono::duration<double, std::micro> time = Clock::now() - start;
    for (int64_t device = 0; std::cmp_less(device, run.results.size()); ++device) {
      int64_t leaf = 0;
      EmitLeaves(run.results[static_cast<size_t>(device)], module_->shape(module_->entry().root),
                 device, leaf, sink);
    }
    for (const std::string& warning : run.warnings) sink.OnWarning(warning);
    return RunResult{time.count(), run.peak_bytes};
  }

 private:
  std::shared_ptr<const hlo::Module> module_;
  LoadOptions options_;
  hlo::Topology topology_;
};

class Interpreter : public Platform {
 public:
  std::string_view name() const override { return "interpreter"; }
  Result<std::unique_ptr<Executable>> Load(std::shared_ptr<const hlo::Module> module,
                                           const LoadOptions& options) override {
    return std::make_unique<InterpreterExecutable>(std::move(module), options);
  }
};

}  // namespace

std::unique_ptr<Platform> MakeInterpreter() { return std::make_unique<Interpreter>(); }

}  // namespace hloscope::replay
