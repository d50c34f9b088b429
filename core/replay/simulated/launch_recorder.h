// LaunchRecorder: when the steps of one run of a DeviceProgram ran, and what its launches did, for
// a profile. Times are those of the simulation on this machine.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/eval/machine/recording.h"
#include "core/ptx/ptx.h"
#include "core/replay/capture/run_stream.h"
#include "core/replay/simulated/loaded_program.h"

namespace hloscope::replay {

// What was counted of a launch, as a profile has it.
profiler::LaunchFigures LaunchFiguresOf(const ptx::Counters& counters);

class LaunchRecorder {
 public:
  // Steps and loops that are told one by one: `most_steps`; of later ones recording.h says what
  // becomes of them.
  LaunchRecorder(const LoadedProgram& loaded, int64_t most_steps, const eval::RunState& run);

  // Around each sequence of steps; `calls` led to it.
  void Enter(std::span<const eval::Frame> calls) { steps_.Enter(calls); }
  void Leave() { steps_.Leave(); }
  // A step that launched nothing, or a launch of a step, has ended.
  void Ended(hlo::InstructionId id) { steps_.Ended(id); }
  void Launched(hlo::InstructionId id, const KernelLaunch& launch, const ptx::Counters& counters);

  // The run has ended: what was recorded, of the device with that number, and how long it was at
  // it; the recorder is spent. The module stays open.
  std::pair<TraceSteps, eval::DeviceSpan> Take(int64_t device);

 private:
  uint32_t KernelOf(const KernelLaunch& launch);

  const LoadedProgram& loaded_;
  TraceSteps told_;
  int64_t begun_ns_;
  std::map<const KernelLaunch*, uint32_t> kernels_;
  eval::StepRecorder steps_;  // into told_
};

}  // namespace hloscope::replay
