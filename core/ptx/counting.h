// Counters of a launch out of how often each of its instructions was executed.
#pragma once

#include "core/ptx/ir/program.h"
#include "core/ptx/machine/state.h"
#include "core/ptx/ptx.h"

namespace hloscope::ptx {

// Adds what an instruction did that `warps` warps executed with `lanes` active lanes together, on
// sm_`target`.
void Count(const Instruction& instruction, uint32_t target, uint64_t warps, uint64_t lanes,
           Counters& counters);

// Adds what only the run knows.
void AddRunCounts(const RunCounts& counts, Counters& counters);

// Adds the counters of LaunchOptions::count_traffic.
void AddTraffic(const Traffic& traffic, const LaunchMemory& memory, Counters& counters);

}  // namespace hloscope::ptx
