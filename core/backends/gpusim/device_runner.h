// DeviceRunner: runs a DeviceProgram in place of a module, and tells what ran.
#pragma once

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "core/backends/gpusim/device_run.h"
#include "core/eval/machine/machine.h"
#include "core/replay/capture/run_stream.h"

namespace hloscope::replay {

// Of one run of a module.
class DeviceRunner {
 public:
  // `observer`: who is shown the steps; null: nobody. `record_steps`: so many steps of each device
  // are told; 0: none.
  DeviceRunner(const LoadedProgram& loaded, const RunOptions& options, StepObserver* observer,
               int64_t record_steps)
      : loaded_(loaded),
        options_(options),
        observer_(observer),
        record_steps_(record_steps),
        checks_(options) {}

  // All steps of the program, on a device of the run.
  Result<runtime::Value> Run(eval::Machine& machine, std::vector<runtime::Value> arguments) const;

  // Behind the run: what checks found, what ran, and each instruction that the evaluator computed.
  void Tell(RunStream& stream) const;
  // What checks found alone, also of a run that failed.
  void TellChecks(RunStream& stream) const { checks_.Tell(stream); }
  // What each device recorded, in order, and its span; both are spent.
  std::pair<std::vector<TraceSteps>, std::vector<runtime::DeviceSpan>> TakeSteps() const;

 private:
  const hlo::Module& module() const { return *loaded_.program.module; }

  const LoadedProgram& loaded_;
  const RunOptions& options_;
  StepObserver* observer_;
  const int64_t record_steps_;
  mutable std::mutex mutex_;  // devices run at the same time
  mutable DeviceCounts counts_;
  mutable std::map<int64_t, std::pair<TraceSteps, runtime::DeviceSpan>> steps_;  // by device
  mutable RunChecks checks_;
};

}  // namespace hloscope::replay
