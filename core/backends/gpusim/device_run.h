// DeviceRun: one run of a DeviceProgram: its allocations, kernels on the simulated GPU, the
// evaluator for what libraries and XLA's runtime do, all on the same bytes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/backends/gpusim/device_program.h"
#include "core/backends/gpusim/launch_recorder.h"
#include "core/backends/gpusim/loaded_program.h"
#include "core/backends/gpusim/run_checks.h"
#include "core/backends/gpusim/step_observer.h"
#include "core/eval/machine/machine.h"
#include "core/replay/host_fallbacks.h"

namespace hloscope::replay {

// What ran, and how often.
struct DeviceCounts {
  int64_t kernels = 0, copies = 0;
  HostFallbackCounts evaluated;
};

class DeviceRun {
 public:
  // `observer`: who is shown the steps; `recorder`: takes them down and counts what launches do;
  // null: nobody.
  DeviceRun(const LoadedProgram& loaded, eval::Machine& machine, const RunOptions& options,
            StepObserver* observer = nullptr, LaunchRecorder* recorder = nullptr)
      : program_(loaded.program),
        loaded_(loaded),
        machine_(machine),
        observer_(observer),
        recorder_(recorder),
        checks_(options) {}

  // The value of the root. Errors end the run: a kernel that touches what is not its own (internal
  // to XLA, so an environment error with kernel and line), memory, deadline, what the evaluator
  // cannot do.
  Result<runtime::Value> Run(std::span<const runtime::Value> arguments);
  const DeviceCounts& counts() const { return counts_; }
  const RunChecks& checks() const { return checks_; }

 private:
  Status Allocate();
  Status WriteInputs(std::span<const runtime::Value> arguments);
  Status RunSequence(uint32_t sequence);
  Status RunStep(const DeviceStep& step);
  Status RunObserved(const DeviceStep& step);
  Status DoStep(const DeviceStep& step);
  Status RunCallee(const DeviceStep& step, size_t callee, int64_t iteration = 0);
  Status RunKernels(const DeviceStep& step);
  Status Launch(const DeviceStep& step, const KernelLaunch& launch);
  std::string NameOf(const DeviceStep& step, const Slice& slice) const;
  void CheckResults();
  Status RunLoop(const DeviceStep& step);
  Status RunBranch(const DeviceStep& step);
  Status Evaluate(const DeviceStep& step);

  std::byte* At(const Slice& slice) const {
    return allocations_[static_cast<size_t>(slice.allocation)].data() + slice.offset;
  }
  std::vector<runtime::Value> OperandsOf(const DeviceStep& step) const;
  // Missing where the assignment does not say where it lies, or nobody can read such an array.
  runtime::Value ValueOf(const hlo::Shape& shape, std::span<const Slice> leaves,
                         size_t& next) const;
  Status Store(const runtime::Value& value, const hlo::Shape& shape, std::span<const Slice> leaves,
               size_t& next);

  const DeviceProgram& program_;
  const LoadedProgram& loaded_;
  eval::Machine& machine_;
  StepObserver* observer_;
  LaunchRecorder* recorder_;
  std::vector<const std::vector<Slice>*> results_of_;  // by instruction, of an observed run
  std::vector<runtime::Buffer> allocations_;
  std::vector<runtime::Frame> frames_;  // the loops, branches and calls around the step at hand
  DeviceCounts counts_;
  RunChecks checks_;
};

}  // namespace hloscope::replay
