// The row of our own GPU kernels on a device, through the CUDA driver.
#include <algorithm>
#include <mutex>
#include <utility>

#include "core/backends/compiled/gpu_backend.h"
#include "core/backends/compiled/how_to_compile.h"
#include "core/backends/cuda/algorithm_selector.h"
#include "core/backends/cuda/device.h"
#include "core/backends/cuda/device_kernels.h"
#include "core/backends/cuda/device_plan.h"
#include "core/backends/cuda/device_recorder.h"
#include "core/backends/cuda/library_calls.h"
#include "core/backends/cuda/ranked_platform.h"
#include "core/backends/cuda/several_devices.h"
#include "core/backends/pjrt/gpu_architecture.h"
#include "core/hlo/sharding/topology.h"

namespace hloscope::replay {
namespace {

// The first GPU, or that of this rank among those on the machine: launchers show each all, or its
// own alone.
Result<std::shared_ptr<const cuda::Device>> OpenOwn() {
  const auto ranks = Ranks::OfProcess();
  if (ranks == nullptr) return cuda::Device::Open();
  HLOSCOPE_ASSIGN_OR_RETURN(const auto driver, cuda::Driver::Open());
  return cuda::Device::Open(static_cast<int>(ranks->local() % driver->devices()));
}

// What the driver is too old for is left to the host.
void LeaveOutNewer(const cuda::Driver& driver, compile::GpuCode& code, CompiledCode& out) {
  if (driver.version() >= compile::kLargeParametersCuda) return;
  const auto is_newer = [&](const compile::GpuCode::Use& use) {
    return code.modules[code.kernels[use.kernel].module].contains(compile::kLargeParametersPtx);
  };
  for (const compile::GpuCode::Use& use : code.uses) {
    if (!is_newer(use)) continue;
    out.missing.emplace(
        use.instruction,
        fmt::format("its parameters take more than {} bytes, for which NVIDIA's "
                    "driver has to be 530 or newer: this one is of CUDA {}",
                    compile::kGpuParameterBytes, cuda::VersionText(driver.version())));
  }
  std::erase_if(code.uses, is_newer);
  for (std::string& text : code.modules) {
    if (text.contains(compile::kLargeParametersPtx)) text.clear();
  }
}

class DeviceBackend : public GpuBackend {
 public:
  Recorder recorder() const override { return Recorder::kListener; }
  void AdjustOptions(compile::CompileOptions& how) const override {
    GpuBackend::AdjustOptions(how);
    how.plan_collectives = true;
    std::erase_if(how.disabled_passes, cuda::NamesLibrary);
  }

 protected:
  Result<std::string> Begin(const RunOptions& options, CompiledCode&) const override {
    HLOSCOPE_ASSIGN_OR_RETURN(const auto device, OpenOwn());
    if (options.load.gpu_target.empty())
      return std::string(device->capability() >= 90 ? "sm_90" : "sm_80");
    HLOSCOPE_ASSIGN_OR_RETURN(std::string target,
                              GpuArchitecture(options.load.gpu_target, options.limits));
    if (target == "sm_90" && device->capability() < 90) {
      return UnsupportedError(
          fmt::format("device capability too low: code for {} does not run on {}, which has {}.{}",
                      options.load.gpu_target, device->name(), device->capability() / 10,
                      device->capability() % 10),
          "leave --target out: the device itself says what it runs");
    }
    return target;
  }

  Status Load(std::shared_ptr<const hlo::Module> module, compile::GpuCode code,
              const RunOptions& options, CompiledCode& out) const override {
    HLOSCOPE_ASSIGN_OR_RETURN(const auto device, OpenOwn());
    LeaveOutNewer(device->driver(), code, out);
    auto recorder = std::make_shared<cuda::DeviceRecorder>(device, module);
    HLOSCOPE_ASSIGN_OR_RETURN(
        auto kernels,
        cuda::DeviceKernels::Load(*module, code, device, recorder, options.record.pc_sampling));
    const std::vector<std::string> words = HowToCompile(*module, options, false).disabled_passes;
    HLOSCOPE_ASSIGN_OR_RETURN(const auto chooser, Chooser(options));
    HLOSCOPE_ASSIGN_OR_RETURN(
        auto calls, cuda::LibraryCalls::Make(*module, code, *kernels, device, words, *chooser));
    const hlo::Topology topology = hlo::TopologyOf(*module, options.limits.devices);
    HLOSCOPE_ASSIGN_OR_RETURN(
        const auto all, cuda::SeveralDevices::Open(*module, code, topology.counts, device, recorder,
                                                   words, *chooser));
    out.choices = all->Choices(calls->choices());
    out.libraries.push_back(std::move(kernels));
    out.libraries.push_back(std::move(calls));  // in place of kernels
    out.device = all;
    out.listener = std::move(recorder);
    return {};
  }

 private:
  // One for all forms of a module, so that what was measured for one is taken for the others.
  Result<std::shared_ptr<const cuda::AlgorithmSelector>> Chooser(const RunOptions& options) const {
    const std::lock_guard lock(mutex_);
    const std::pair asked(options.load.autotune_mode, options.load.choices);
    if (chooser_ == nullptr || asked != asked_) {
      HLOSCOPE_ASSIGN_OR_RETURN(chooser_, cuda::AlgorithmSelector::Make(options));
      asked_ = asked;
    }
    return chooser_;
  }

  mutable std::mutex mutex_;
  mutable std::pair<AutotuneMode, std::string> asked_;
  mutable std::shared_ptr<const cuda::AlgorithmSelector> chooser_;
};

}  // namespace

std::unique_ptr<Platform> MakeGpuPlatform(const PlatformRow& row, std::string_view) {
  auto own = MakeCompiledPlatform(row, std::make_unique<DeviceBackend>());
  auto ranks = Ranks::OfProcess();
  if (ranks == nullptr) return own;
  return cuda::MakeRankedPlatform(std::move(own), std::move(ranks));
}

}  // namespace hloscope::replay
