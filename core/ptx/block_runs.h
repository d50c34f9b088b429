// The blocks of a launch, shared out over host threads.
#pragma once

#include <limits>
#include <optional>

#include "core/ptx/launch_plan.h"
#include "core/ptx/machine/traffic.h"

namespace hloscope::ptx {

struct BlockRuns {
  Executions executions;
  uint64_t padding_reads = 0;  // bytes read as poison
  LateCounts late_counts;
  Traffic traffic;                // where it was to be counted
  std::optional<RawFault> fault;  // of the first block in index order that has one
  uint64_t fault_block = 0;
};

// Runs all blocks, or the one that the options name. An error (kDied) for a deadline, a stop, or
// more steps than allowed.
Result<BlockRuns> RunBlocks(const LaunchPlan& plan, const LaunchOptions& options);

}  // namespace hloscope::ptx
