// How often each module of a profile ran: the one rule by which anything is "per run".
#pragma once

#include <cstdint>
#include <vector>

#include "profiler/attribution.h"

namespace hloscope::profiler {

// A run is an execution of the module's entry computation on one device. What is called in a loop
// ran more often than that, and what is in a branch less.
struct ModuleRuns {
  int64_t count = 0;  // 0: not known
  bool is_cut =
      false;  // some of the entry ran once more or less: the trace begins or ends in a run
  int64_t devices = 0;  // on which its instructions ran; 0: no event is of one
};

// By modules() of the attribution. The count is what most instructions that every run executes once
// have in common, those of the entry and of what it calls outside of loops and branches; of one
// whose events name their run (`run_id`), as many as there are names. Where the profile has no such
// instruction, the events of the lines of modules.
std::vector<ModuleRuns> ModuleRunsOf(const Attribution& attribution);

}  // namespace hloscope::profiler
