// The loop that executes a block.
#pragma once

#include <atomic>
#include <functional>

#include "core/ptx/machine/steps.h"

namespace hloscope::ptx {

struct Executable {
  const Kernel* kernel = nullptr;
  std::vector<Step> steps;  // aligned with the instructions; nullptr for control
};

// How often each instruction was executed, by warps and by lanes.
struct Executions {
  std::vector<uint64_t> warps;
  std::vector<uint64_t> lanes;
};

// Takes note of steps and answers whether to go on; called every few thousand steps.
using Continue = std::function<bool(uint64_t steps)>;

// Runs the warps of `block` from their first instruction until all have returned, a fault, or a
// `go_on` of false. False for the latter.
bool RunBlock(const Executable& executable, Block& block, Executions& executions,
              const Continue& go_on);

}  // namespace hloscope::ptx
