// DeviceRunner: lets the evaluator run a DeviceProgram in place of a module, and tells what ran.
#pragma once

#include <mutex>

#include "core/eval/machine/compiled_kernels.h"
#include "core/replay/capture/run_stream.h"
#include "core/replay/simulated/device_run.h"

namespace hloscope::replay {

// Of one run of a module.
class DeviceRunner : public eval::CompiledKernels {
 public:
  // `observer`: who is shown the steps; null: nobody.
  DeviceRunner(const LoadedProgram& loaded, StepObserver* observer)
      : loaded_(loaded), observer_(observer) {}

  const hlo::Module& module() const override { return *loaded_.program.module; }
  bool Has(hlo::InstructionId) const override { return false; }
  Result<eval::Value> Run(eval::KernelCall& call) const override;
  Result<std::optional<eval::Value>> RunWhole(
      eval::Machine& machine, hlo::ComputationId computation,
      std::span<const eval::Value> arguments) const override;
  void Evaluated(hlo::InstructionId, int64_t) const override {}

  // Behind the run: what ran, and each instruction that the evaluator computed.
  void Tell(RunStream& stream) const;

 private:
  const LoadedProgram& loaded_;
  StepObserver* observer_;
  mutable std::mutex mutex_;  // devices run at the same time
  mutable DeviceCounts counts_;
};

}  // namespace hloscope::replay
