// The loop that executes a block.
#pragma once

#include <atomic>
#include <functional>
#include <span>

#include "core/ptx/machine/steps.h"

namespace hloscope::ptx {

struct Executable {
  Executable() = default;
  Executable(const Kernel& kernel, std::vector<Step> steps);

  const Kernel* kernel = nullptr;
  std::vector<Step> steps;        // aligned with the instructions; nullptr for control
  std::vector<Step> quick_steps;  // the same where nobody looks: without moves that nobody reads
  // For each instruction the next one, itself included, that takes more than its step: it has a
  // guard that may not hold, branches or waits for lanes.
  std::vector<uint32_t> straight_ends;
};

// How often each instruction was executed, by warps and by lanes.
class Executions {
 public:
  explicit Executions(size_t instructions = 0)
      : warps_(instructions + 1), lanes_(instructions + 1) {}

  // The instructions from `first` up to `end`, by one warp with so many lanes.
  void Add(uint32_t first, uint32_t end, uint32_t lanes) {
    ++warps_[first];
    --warps_[end];
    lanes_[first] += lanes;
    lanes_[end] -= lanes;
  }
  // Takes those from `first` up to `end` away again.
  void Remove(uint32_t first, uint32_t end, uint32_t lanes) {
    --warps_[first];
    ++warps_[end];
    lanes_[first] -= lanes;
    lanes_[end] += lanes;
  }
  void Add(const Executions& other);

  struct Counts {
    std::vector<uint64_t> warps, lanes;  // by instruction
  };
  Counts Sum() const;

 private:
  // What an instruction was executed more often than the one before it.
  std::vector<uint64_t> warps_, lanes_;
};

// Takes note of steps and answers whether to go on; called every few thousand steps.
using Continue = std::function<bool(uint64_t steps)>;

// Runs the warps of all blocks of `cluster` from their first instruction until all have returned, a
// fault in one of them, or a `go_on` of false. Null but for the latter: then the block that stood
// at its `pc`. `executions` has one for each block.
Block* RunCluster(const Executable& executable, Cluster& cluster,
                  std::span<Executions* const> executions, const Continue& go_on);

}  // namespace hloscope::ptx
