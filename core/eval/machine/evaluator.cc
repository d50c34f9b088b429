// Evaluate: checks the arguments and runs the entry computation.
#include "core/eval/machine/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "core/base/counted.h"
#include "core/eval/machine/indices.h"
#include "core/eval/machine/machine.h"
#include "core/hlo/sharding/manual_region.h"

namespace hloscope::eval {

using runtime::DeviceRecording;
using runtime::DeviceSpan;

namespace {

// Arrays may be shorter than a bound: then that is their size at run time.
bool FitsParameter(const hlo::Shape& given, const hlo::Shape& want) {
  if (given.IsTuple() && want.IsTuple()) {
    return std::ranges::equal(given.elements(), want.elements(), FitsParameter);
  }
  if (!given.IsArray() || !want.IsArray()) return hlo::Compatible(given, want);
  return given.element_type() == want.element_type() && hlo::FitsWithin(given.dimensions(), want);
}

// The literal as the value of a parameter, within its bounds.
Result<Value> Bind(Machine& machine, const hlo::Literal& literal, const hlo::Shape& want) {
  if (!want.IsTuple()) {
    Value value = Value::FromLiteral(literal);
    if (!want.IsArray()) return value;
    if (std::ranges::equal(literal.shape().dimensions(), want.dimensions())) return value;
    return WithinBounds(machine, value, want);
  }
  std::vector<Value> elements;
  for (size_t i = 0; i < want.elements().size(); ++i) {
    HLOSCOPE_ASSIGN_OR_RETURN(Value element,
                              Bind(machine, literal.elements()[i], want.elements()[i]));
    elements.push_back(std::move(element));
  }
  return Value::Tuple(std::move(elements));
}

Status CheckArguments(const hlo::Module& module, std::span<const hlo::InstructionId> parameters,
                      std::span<const hlo::Literal> arguments) {
  if (parameters.size() != arguments.size()) {
    return InputError(fmt::format("{} has {}, got {}", module.name(),
                                  Counted(parameters.size(), "parameter"),
                                  Counted(arguments.size(), "argument")));
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].valid()) return InputError(fmt::format("there is no parameter {}", i));
    const hlo::Shape& want = module.shape(parameters[i]);
    if (!FitsParameter(arguments[i].shape(), want)) {
      return InputError(fmt::format("parameter {} ({}) is {}, its argument {}", i,
                                    module.name(parameters[i]), hlo::ToString(want, false),
                                    hlo::ToString(arguments[i].shape(), false)));
    }
    if (arguments[i].elided()) {
      return InputError(fmt::format("argument {} has no value", i));
    }
  }
  return {};
}

// Each level of nested calls takes a few frames; the rest is for what does not nest.
constexpr int64_t kStackBytesPerLevel = 8 << 10;
constexpr int64_t kStackBytes = 1 << 20;

Status RunDevice(Machine& machine, std::span<const hlo::Literal> arguments, const DeviceBody& body,
                 Value& result) {
  std::vector<Value> values;
  values.reserve(arguments.size());
  const auto parameters = machine.module().Parameters(machine.module().entry_id());
  for (size_t i = 0; i < arguments.size(); ++i) {
    HLOSCOPE_ASSIGN_OR_RETURN(Value value,
                              Bind(machine, arguments[i], machine.module().shape(parameters[i])));
    values.push_back(std::move(value));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(result, body == nullptr ? machine.CallEntry(std::move(values))
                                                    : body(machine, std::move(values)));
  return {};
}

// The devices that have work of their own: partitions of an unpartitioned module without manual
// regions would all do the same.
hlo::DeviceCounts CountsFor(const hlo::Topology& topology) {
  if (!topology.unpartitioned || topology.has_device_work) return topology.counts;
  return {topology.counts.replicas, 1};
}

// One for each device where the run is recorded.
std::vector<StepRecorder> RecordersFor(const hlo::Module& module, int64_t devices,
                                       const RunState& run, const EvaluateOptions& options) {
  std::vector<StepRecorder> recorders;
  if (options.recording == nullptr) return recorders;
  options.recording->devices.assign(static_cast<size_t>(devices), {});
  options.recording->spans.assign(static_cast<size_t>(devices), {});
  for (DeviceRecording& out : options.recording->devices) {
    recorders.emplace_back(module.instructions().size(), options.recording->most_steps / devices,
                           run, out);
  }
  return recorders;
}

Result<DeviceEvaluation> Run(const hlo::Module& module, const hlo::Topology& topology,
                             std::span<const std::vector<hlo::Literal>> arguments,
                             const EvaluateOptions& options, const DeviceBody& body) {
  const hlo::DeviceCounts counts = CountsFor(topology);
  const auto limit = options.limits.devices;
  if (counts.replicas > limit || counts.partitions > limit || counts.devices() > limit) {
    return EnvironmentError(
        fmt::format("{} of {} exceed the limit devices of {}", Counted(counts.replicas, "replica"),
                    Counted(counts.partitions, "partition"), limit),
        "raise --limit devices");
  }
  const int64_t per_list = topology.unpartitioned ? counts.partitions : 1;
  if (std::cmp_not_equal(arguments.size(), counts.devices() / per_list)) {
    return InputError(fmt::format("expected {} of arguments, got {}",
                                  Counted(counts.devices() / per_list, "list"), arguments.size()));
  }
  const auto parameters = module.Parameters(module.entry_id());
  for (const auto& each : arguments) HLOSCOPE_TRY(CheckArguments(module, parameters, each));
  RunState run(options);
  DeviceSet devices(module, counts);
  if (per_list > 1 && !hlo::AreValuesOwn(module))
    devices.ShareWork({options.rng_seed, options.rng_seed});
  std::vector<Value> results(static_cast<size_t>(counts.devices()));
  std::vector<StepRecorder> recorders = RecordersFor(module, counts.devices(), run, options);
  if (!recorders.empty()) {
    devices.turns().set_on_wait([&](int64_t device, int64_t start_ns, int64_t end_ns) {
      recorders[static_cast<size_t>(device)].Waited(start_ns, end_ns);
    });
  }
  const int64_t stack = kStackBytes + options.limits.nesting * kStackBytesPerLevel;
  HLOSCOPE_TRY(devices.turns().Run(stack, [&](int64_t device) {
    StepRecorder* const recorder =
        recorders.empty() ? nullptr : &recorders[static_cast<size_t>(device)];
    DeviceSpan* const span =
        recorder == nullptr ? nullptr : &options.recording->spans[static_cast<size_t>(device)];
    if (span != nullptr) span->begun_ns = SteadyNanoseconds();
    Status status;
    {
      Machine machine(module, options, run, devices, device, recorder);
      status = RunDevice(machine, arguments[static_cast<size_t>(device / per_list)], body,
                         results[static_cast<size_t>(device)]);
    }
    if (span != nullptr) span->ended_ns = SteadyNanoseconds();
    return status;
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
                                           const EvaluateOptions& options, const DeviceBody& body) {
  try {
    return Run(module, topology, arguments, options, body);
  } catch (const std::bad_alloc&) {
    return EnvironmentError("out of memory while evaluating",
                            "free memory, or use a smaller module");
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
