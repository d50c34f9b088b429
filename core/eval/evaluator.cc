// Evaluate: checks the arguments and runs the entry computation.
#include "core/eval/evaluator.h"

#include <fmt/format.h>

#include <new>

#include "core/eval/machine.h"

namespace hloscope::eval {
namespace {

Status CheckArguments(const hlo::Module& module, std::span<const hlo::InstructionId> parameters,
                      std::span<const hlo::Literal> arguments) {
  if (parameters.size() != arguments.size()) {
    return InputError(fmt::format("{} takes {} parameters, {} arguments were given", module.name(),
                                  parameters.size(), arguments.size()));
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].valid()) return InputError(fmt::format("there is no parameter {}", i));
    const hlo::Shape& want = module.shape(parameters[i]);
    if (!hlo::Compatible(want, arguments[i].shape(), {.dynamic_dimensions = false})) {
      return InputError(fmt::format("parameter {} ({}) is {}, its argument {}", i,
                                    module.name(parameters[i]), hlo::ToString(want, false),
                                    hlo::ToString(arguments[i].shape(), false)));
    }
    if (arguments[i].elided()) {
      return InputError(fmt::format("the bytes of argument {} are not there", i));
    }
  }
  return {};
}

// Each level of nested calls takes a few frames; the rest is for what does not nest.
constexpr int64_t kStackBytesPerLevel = 8 << 10;
constexpr int64_t kStackBytes = 1 << 20;

Status RunDevice(Machine& machine, std::span<const hlo::Literal> arguments, Value& result) {
  std::vector<Value> values;
  values.reserve(arguments.size());
  for (const hlo::Literal& argument : arguments) values.push_back(Value::FromLiteral(argument));
  HLOSCOPE_ASSIGN_OR_RETURN(result, machine.Call(machine.module().entry_id(), std::move(values)));
  return {};
}

// The devices that have work of their own: partitions of an unpartitioned module without manual
// regions would all do the same.
hlo::DeviceCounts CountsFor(const hlo::Topology& topology) {
  if (!topology.unpartitioned || topology.has_device_work) return topology.counts;
  return {topology.counts.replicas, 1};
}

Result<DeviceEvaluation> Run(const hlo::Module& module, const hlo::Topology& topology,
                             std::span<const std::vector<hlo::Literal>> arguments,
                             const EvaluateOptions& options) {
  const hlo::DeviceCounts counts = CountsFor(topology);
  const auto limit = options.limits.devices;
  if (counts.replicas > limit || counts.partitions > limit || counts.devices() > limit) {
    return EnvironmentError(
        fmt::format("{} replicas of {} partitions are more than the limit devices allows, {}",
                    counts.replicas, counts.partitions, limit),
        "raise the limit devices");
  }
  const int64_t per_list = topology.unpartitioned ? counts.partitions : 1;
  if (std::cmp_not_equal(arguments.size(), counts.devices() / per_list)) {
    return InputError(fmt::format("{} lists of arguments are needed, {} were given",
                                  counts.devices() / per_list, arguments.size()));
  }
  const auto parameters = module.Parameters(module.entry_id());
  for (const auto& each : arguments) HLOSCOPE_TRY(CheckArguments(module, parameters, each));
  RunState run(options);
  DeviceSet devices(module, counts);
  if (per_list > 1) devices.ShareWork({options.rng_seed, options.rng_seed});
  std::vector<Value> results(static_cast<size_t>(counts.devices()));
  const int64_t stack = kStackBytes + options.limits.nesting * kStackBytesPerLevel;
  HLOSCOPE_TRY(devices.turns().Run(stack, [&](int64_t device) {
    Machine machine(module, options, run, devices, device);
    return RunDevice(machine, arguments[static_cast<size_t>(device / per_list)],
                     results[static_cast<size_t>(device)]);
  }));
  DeviceEvaluation evaluation;
  evaluation.steps = run.steps();
  evaluation.peak_bytes = run.peak_bytes();
  evaluation.warnings.assign(devices.warnings().begin(), devices.warnings().end());
  for (size_t d = 0; d < results.size(); d += static_cast<size_t>(per_list)) {
    evaluation.results.push_back(std::move(results[d]));
  }
  return evaluation;
}

}  // namespace

Result<DeviceEvaluation> EvaluateOnDevices(const hlo::Module& module, const hlo::Topology& topology,
                                           std::span<const std::vector<hlo::Literal>> arguments,
                                           const EvaluateOptions& options) {
  try {
    return Run(module, topology, arguments, options);
  } catch (const std::bad_alloc&) {
    return EnvironmentError("out of memory while evaluating", "free memory, or a smaller module");
  }
}

Result<Evaluation> Evaluate(const hlo::Module& module, std::span<const hlo::Literal> arguments,
                            const EvaluateOptions& options) {
  const std::vector<hlo::Literal> own(arguments.begin(), arguments.end());
  HLOSCOPE_ASSIGN_OR_RETURN(DeviceEvaluation run,
                            EvaluateOnDevices(module, {}, {&own, 1}, options));
  return Evaluation{std::move(run.results[0]), run.steps, run.peak_bytes};
}

}  // namespace hloscope::eval
