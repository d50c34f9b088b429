// OwnLaunches: what launches of our own GPU kernels on the simulated GPU were counted to do, beside
// the steps of a recorded run.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/backends/gpusim/launch_recorder.h"
#include "core/ptx/ptx.h"
#include "core/replay/capture/run_stream.h"
#include "profiler/device_facts.h"
#include "profiler/launch_figures.h"

namespace hloscope::replay {

// Of one run; from any thread.
class OwnLaunches {
 public:
  // `device`: what a model says they take there.
  explicit OwnLaunches(profiler::DeviceFacts device) : device_(std::move(device)) {}

  // A launch for the instruction that is running has ended.
  void Add(hlo::InstructionId id, const ptx::Module& code, const ptx::LaunchRequest& request,
           const ptx::LaunchResult& result);
  // Gives the steps of a device the launches that ended inside them. Several launches of one step
  // are one, of the kernel that came first. Steps that stand for many have none.
  void GiveTo(TraceSteps& steps) const;
  // A series for each figure that is not zero throughout, a sample for each launch.
  void Tell(RunStream& stream) const;

 private:
  struct Launch {
    int64_t ended_ns = 0;
    uint32_t kernel = 0;  // of kernels_
    profiler::KernelDetails details;
    profiler::LaunchFigures figures;
  };

  profiler::DeviceFacts device_;
  mutable std::mutex mutex_;
  std::vector<TracedKernel> kernels_;
  std::map<std::string, uint32_t> by_name_;
  std::map<hlo::InstructionId, std::vector<Launch>> launches_;  // in order of time
  CountedLines lines_;
};

}  // namespace hloscope::replay
