// SeveralDevices: the devices of a run spread over GPUs: device i on GPU i mod how many there are,
// each GPU with kernels, libraries and memory of its own.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/backends/compiled/plan_run.h"
#include "core/backends/cuda/device_plan.h"
#include "core/backends/cuda/library_calls.h"
#include "core/compile/gpu_code.h"

namespace hloscope::replay::cuda {

class SeveralDevices : public PlanDevice {
 public:
  // Opens as many GPUs as the run has devices, or there are, beside the first, and loads the code
  // there too; `left_out`: words of libraries.
  static Result<std::shared_ptr<SeveralDevices>> Open(
      const hlo::Module& module, const compile::GpuCode& code, const hlo::DeviceCounts& counts,
      std::shared_ptr<const Device> first, const std::shared_ptr<DeviceRecorder>& recorder,
      const std::vector<std::string>& left_out, const AlgorithmSelector& chooser);

  std::unique_ptr<PlanRun> Start(const ModuleCode& code, eval::Machine& machine) const override;
  RunExecuted::Placement Place(int64_t devices, bool by_plan) const override;
  // What the libraries of all GPUs chose: where one refuses on any of them, that.
  std::shared_ptr<const AlgorithmSelections> Choices(
      std::shared_ptr<const AlgorithmSelections> first) const;

 private:
  struct Other {
    std::unique_ptr<DeviceKernels> kernels;
    std::unique_ptr<LibraryCalls> calls;
    std::unique_ptr<DevicePlans> plans;
    std::unique_ptr<ModuleCode> code;  // made of the first's when first needed
  };
  SeveralDevices() = default;

  std::shared_ptr<const Ranks> ranks_;        // null: all devices are this process's
  std::shared_ptr<Collectives> collectives_;  // null: the run has one device
  std::unique_ptr<const DevicePlans> first_;
  mutable std::mutex mutex_;
  mutable std::vector<Other> others_;
};

}  // namespace hloscope::replay::cuda
