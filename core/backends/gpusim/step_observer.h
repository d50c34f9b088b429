// StepObserver: sees what each step of a DeviceRun ran on and what it left.
#pragma once

#include <cstdint>
#include <span>

#include "core/backends/gpusim/device_program.h"
#include "core/eval/machine/machine.h"

namespace hloscope::ptx {
class StepChanger;
}

namespace hloscope::replay {

// One step that has run. Instructions are those of DeviceProgram::module.
struct StepValues {
  const DeviceStep& step;
  runtime::Site site;
  std::span<const runtime::Value> operands;  // of the instruction, as they were before it ran
  const runtime::Value& result;
  int64_t duration_ns = 0;
  eval::Machine&
      machine;  // the device's: EvaluateInstruction(site.instruction, operands) is what they mean
};

// Called by each device's own thread, one at a time.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // False: the values of that step need not be read.
  virtual bool Wants(const DeviceStep& step) = 0;
  // Behind each wanted step, loops and branches behind what they ran. An error ends the run.
  virtual Status OnStep(const StepValues& values) = 0;
  // Behind a wanted step that failed, as by a fault of a kernel; the run ends with its error.
  virtual void OnFailure(const DeviceStep& /*step*/, const runtime::Site& /*site*/,
                         std::span<const runtime::Value> /*operands*/) {}

  // What steps of kernels do otherwise; null: nothing.
  virtual const ptx::StepChanger* changer() const { return nullptr; }

  // Once, behind the run: tells what is told last.
  virtual void Finish() {}
  // It had what it wanted, and ended the run.
  virtual bool ended() const { return false; }
  virtual int64_t executions() const { return 0; }  // see RunResult
};

}  // namespace hloscope::replay
