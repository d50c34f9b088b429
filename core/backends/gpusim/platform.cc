// The row of XLA:GPU's own kernels on the simulated GPU: those of the dump that a module lies in,
// or compiled for a described device.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/backends/gpusim/device_run.h"
#include "core/backends/gpusim/device_runner.h"
#include "core/backends/gpusim/kernel_cases.h"
#include "core/backends/gpusim/kernel_meanings.h"
#include "core/backends/gpusim/loaded_program.h"
#include "core/backends/gpusim/plan_steps.h"
#include "core/backends/gpusim/spread_leaves.h"
#include "core/backends/gpusim/switched_kernels.h"
#include "core/backends/interpreter/module_runs.h"
#include "core/backends/pjrt/compile_module.h"
#include "core/base/scratch_folder.h"
#include "core/hlo/sharding/topology.h"

namespace hloscope::replay {
namespace {

constexpr std::string_view kNameTarget =
    "name a device, as --target h100: it is then compiled for it";

// The module of the dump that a file belongs to; -1: none.
int32_t ModuleOfFile(const dump::DumpModel& dump, const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  for (int32_t m = 0; std::cmp_less(m, dump.modules().size()); ++m) {
    for (const int32_t f : dump.modules()[static_cast<size_t>(m)].files) {
      if (dump.files()[static_cast<size_t>(f)].path == name) return m;
    }
  }
  return -1;
}

Result<DeviceProgram> ProgramBeside(const std::string& file, const Limits& limits) {
  if (file.empty()) {
    return InputError("no kernels are known: the module is not in a dump",
                      std::string(kNameTarget));
  }
  std::string folder = std::filesystem::path(file).parent_path().string();
  if (folder.empty()) folder = ".";
  HLOSCOPE_ASSIGN_OR_RETURN(const auto dump, dump::DumpModel::Open(folder, limits));
  const int32_t module = ModuleOfFile(*dump, file);
  if (module < 0 || dump->FindFile(module, dump::FileRole::kThunkSequence) < 0) {
    return InputError(fmt::format("there are no kernels of XLA:GPU next to {}", file),
                      std::string(kNameTarget));
  }
  return ReadDeviceProgram(*dump, module);
}

Result<DeviceProgram> CompiledProgram(const std::shared_ptr<const hlo::Module>& module,
                                      const RunOptions& options) {
  HLOSCOPE_ASSIGN_OR_RETURN(const ScratchFolder folder, ScratchFolder::Make());
  CompileModuleRequest request;
  request.options = options;
  request.platform = PluginPlatform(Devices::kGpu)->name;
  request.target = options.load.gpu_target;
  request.dump = folder.path();
  // Libraries that this XLA does not know are the evaluator's: their calls stay in the module.
  constexpr std::string_view kKeepUnknownCalls = "xla_gpu_mock_custom_calls";
  if (std::ranges::find(request.options.platform.xla_flags, kKeepUnknownCalls,
                        [](const auto& flag) { return std::string_view(flag.first); }) ==
      request.options.platform.xla_flags.end()) {
    request.options.platform.xla_flags.emplace_back(kKeepUnknownCalls, "true");
  }
  if (auto done = CompileModule(module, request, options.budget.stop); !done) {
    return std::unexpected(std::move(done).error());
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const auto dump, dump::DumpModel::Open(folder.path(), options.limits));
  if (dump->modules().empty()) return EnvironmentError("XLA left no dump of what it compiled");
  HLOSCOPE_ASSIGN_OR_RETURN(DeviceProgram program, ReadDeviceProgram(*dump, 0));
  // The folder goes.
  for (DeviceCode& code : program.code)
    code.file = std::filesystem::path(code.file).filename().string();
  return program;
}

class SimulatedExecutable : public Executable {
 public:
  // `spread`: where the program was partitioned and the module was not.
  SimulatedExecutable(std::shared_ptr<const hlo::Module> module, const RunOptions& options,
                      std::unique_ptr<const LoadedProgram> loaded,
                      std::optional<SpreadLeaves> spread)
      : runs_(spread ? loaded->program.module : module, options, loaded->program.module),
        given_(std::move(module)),
        loaded_(std::move(loaded)),
        spread_(std::move(spread)) {}

  Result<RunResult> Run(std::span<const std::vector<hlo::Literal>> inputs,
                        const RunOptions& options, RunStream& stream) override {
    if (!spread_) return RunDevices(inputs, options, options.capture.results, stream);
    HLOSCOPE_ASSIGN_OR_RETURN(const auto devices, spread_->Inputs(inputs));
    SpreadLeaves::Results results(*spread_, stream);
    HLOSCOPE_ASSIGN_OR_RETURN(const RunResult run,
                              RunDevices(devices, options, CaptureForm::kBytes, results));
    results.Tell(options.capture, given_->entry().root);
    return run;
  }

 private:
  Result<RunResult> RunDevices(std::span<const std::vector<hlo::Literal>> inputs,
                               const RunOptions& options, CaptureForm results, RunStream& stream) {
    for (const std::string& warning : loaded_->program.warnings) stream.Take(RunWarning{warning});
    HLOSCOPE_ASSIGN_OR_RETURN(const auto observer, ObserverFor(options.capture, stream));
    RunOptions own = options;
    own.record.steps = 0;  // instructions are no steps here
    own.capture = CapturePlan();
    own.capture.stage = options.capture.stage;
    own.capture.results = results;
    const DeviceRunner runner(*loaded_, own, observer.get(), options.record.steps);
    const int64_t start_ns = runtime::SteadyNanoseconds();
    auto result =
        runs_.Run(inputs, own, stream,
                  {nullptr, [&](eval::Machine& machine, std::vector<runtime::Value> arguments) {
                     return runner.Run(machine, std::move(arguments));
                   }});
    const int64_t run_ns = result.has_value() ? static_cast<int64_t>(1e3 * result->run_us)
                                              : runtime::SteadyNanoseconds() - start_ns;
    auto [steps, spans] = runner.TakeSteps();
    runs_.EmitTraceSteps(std::move(steps), spans, start_ns, run_ns, stream);
    if (!result.has_value() && (observer == nullptr || !observer->ended())) {
      runner.TellChecks(stream);  // what ended the run is among them
      return result;
    }
    if (!result.has_value()) result = RunResult{.ended_by_plan = true};
    if (observer != nullptr) {
      observer->Finish();
      result->executions = observer->executions();
    }
    runner.Tell(stream);
    return result;
  }

  // Null where the plan wants nothing but results.
  Result<std::unique_ptr<StepObserver>> ObserverFor(const CapturePlan& plan,
                                                    RunStream& stream) const {
    if (plan.search && plan.search->name == kKernelMeaningsSearch) {
      return std::make_unique<KernelMeanings>(*loaded_->program.module, stream);
    }
    if (plan.search && plan.search->name == kKernelCasesSearch) {
      return KernelCases::Make(*loaded_, *plan.search, stream);
    }
    if (plan.search && plan.search->name == kSwitchedKernelsSearch) {
      return SwitchedKernels::Make(*plan.search);
    }
    if (!plan.wants_more_than_results()) return nullptr;
    return PlanSteps::Make(given_, loaded_->program.module, plan, stream);
  }

  ModuleRuns runs_;
  std::shared_ptr<const hlo::Module> given_;
  std::unique_ptr<const LoadedProgram> loaded_;
  std::optional<SpreadLeaves> spread_;
};

class SimulatedPlatform : public Platform {
 public:
  explicit SimulatedPlatform(const PlatformRow& row) : row_(row) {}
  std::string_view name() const override { return row_.name; }

  Result<std::unique_ptr<Executable>> Load(std::shared_ptr<const hlo::Module> module,
                                           const RunOptions& options) override {
    HLOSCOPE_ASSIGN_OR_RETURN(DeviceProgram program,
                              options.load.gpu_target.empty()
                                  ? ProgramBeside(options.load.module_file, options.limits)
                                  : CompiledProgram(module, options));
    const hlo::Topology given = hlo::TopologyOf(*module, options.limits.devices);
    const hlo::Topology compiled = hlo::TopologyOf(*program.module, options.limits.devices);
    std::optional<SpreadLeaves> spread;
    if (given.unpartitioned && compiled.counts.partitions > 1) {
      HLOSCOPE_ASSIGN_OR_RETURN(spread,
                                SpreadLeaves::Make(*module, *program.module, options.limits));
    } else {
      HLOSCOPE_TRY(CheckSameModule(*module, given, *program.module, compiled));
    }
    const hlo::Module& whose = spread ? *program.module : *module;
    HLOSCOPE_ASSIGN_OR_RETURN(LoadedProgram loaded,
                              LoadProgram(std::move(program), whose.shape(whose.entry().root)));
    return std::make_unique<SimulatedExecutable>(
        std::move(module), options, std::make_unique<const LoadedProgram>(std::move(loaded)),
        std::move(spread));
  }

 private:
  static Status CheckSameModule(const hlo::Module& given, const hlo::Topology& its,
                                const hlo::Module& compiled, const hlo::Topology& own) {
    if (its.counts.devices() != own.counts.devices()) {
      return InputError(fmt::format("the module is for {} devices, its kernels are for {}",
                                    its.counts.devices(), own.counts.devices()),
                        "keep the files of one compilation together");
    }
    const auto a = ParameterShapes(given), b = ParameterShapes(compiled);
    const bool are_same = std::ranges::equal(a, b, [](const hlo::Shape& x, const hlo::Shape& y) {
      return x.WithoutLayouts() == y.WithoutLayouts();
    });
    if (are_same) return {};
    return InputError("the kernels are of a module with other parameters",
                      "keep the files of one compilation together");
  }

  const PlatformRow& row_;
};

}  // namespace

std::unique_ptr<Platform> MakeSimulatedPlatform(const PlatformRow& row, std::string_view) {
  return std::make_unique<SimulatedPlatform>(row);
}

}  // namespace hloscope::replay
