// LaunchRecorder: when the steps of one run of a DeviceProgram ran, and what its launches did, for
// a profile. Times are those of the simulation on this machine.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/backends/gpusim/loaded_program.h"
#include "core/ptx/ptx.h"
#include "core/replay/capture/run_stream.h"
#include "core/runtime/recording.h"
#include "profiler/ptx_lines.h"

namespace hloscope::replay {

// What was counted of a launch, as a profile has it.
profiler::LaunchFigures LaunchFiguresOf(const ptx::Counters& counters);

// How often which line of PTX was executed, by instruction.
class CountedLines {
 public:
  // A launch for an instruction; without lines nothing. `code` has to outlive it.
  void Add(hlo::InstructionId id, const ptx::Module& code, const std::string& entry,
           std::span<const ptx::LineCount> lines);
  // As an argument; empty: none were counted.
  std::string TextOf(hlo::InstructionId id) const;

 private:
  std::map<const ptx::Module*, profiler::KernelText> texts_;
  std::map<hlo::InstructionId, profiler::PtxLines> lines_;
};

class LaunchRecorder {
 public:
  // Steps and loops that are told one by one: `most_steps`; of later ones recording.h says what
  // becomes of them. `counts_lines`: launches are counted by line.
  LaunchRecorder(const LoadedProgram& loaded, int64_t most_steps, bool counts_lines,
                 const runtime::RunState& run);
  bool counts_lines() const { return counts_lines_; }

  // Around each sequence of steps; `calls` led to it.
  void Enter(std::span<const runtime::Frame> calls) { steps_.Enter(calls); }
  void Leave() { steps_.Leave(); }
  // A step that launched nothing, or a launch of a step, has ended.
  void Ended(hlo::InstructionId id) { steps_.Ended(id); }
  void Launched(hlo::InstructionId id, const KernelLaunch& launch, const ptx::LaunchResult& result);

  // The run has ended: what was recorded, of the device with that number, and how long it was at
  // it; the recorder is spent. The module stays open.
  std::pair<TraceSteps, runtime::DeviceSpan> Take(int64_t device);

 private:
  uint32_t KernelOf(const KernelLaunch& launch);

  const LoadedProgram& loaded_;
  TraceSteps told_;
  int64_t begun_ns_;
  std::map<const KernelLaunch*, uint32_t> kernels_;
  bool counts_lines_;
  CountedLines lines_;
  std::map<hlo::InstructionId, size_t> first_launch_;  // of told_
  runtime::StepRecorder steps_;                        // into told_
};

}  // namespace hloscope::replay
