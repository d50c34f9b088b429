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
  RunCounts counts;
  std::optional<RawFault> fault;  // of the first block in index order that has one
  uint64_t fault_block = 0;
};

// Runs all blocks, or the one that the options name. Observers watch instead of that of the
// options, one for each block in flight; each is told of blocks in rising order. An error
// (kCancelled, kDeadlineExceeded) for a deadline, a stop, or more steps than allowed.
Result<BlockRuns> RunBlocks(const LaunchPlan& plan, const LaunchOptions& options,
                            std::vector<Observer*> observers = {});

}  // namespace hloscope::ptx
