// What a launch runs: its request held to the kernel, the kernel's arguments and variables as
// windows of memory, and how many blocks may be in flight.
#pragma once

#include "core/ptx/machine/coordinates.h"
#include "core/ptx/machine/run.h"
#include "core/ptx/module.h"

namespace hloscope::ptx {

struct LaunchPlan {
  const Executable* executable = nullptr;
  const Kernel* kernel = nullptr;
  Executable changed;  // what LaunchOptions::changer made of the module's
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  uint64_t blocks = 1, threads = 1, warps = 1;  // of the grid; of a block
  uint64_t cluster_blocks = 1;
  uint64_t shared_bytes = 0;  // of a block
  uint64_t in_flight = 1;     // clusters
  uint32_t target = 0;        // sm number
  LaunchMemory memory;
  std::vector<std::byte> parameter_bytes;
  std::vector<std::vector<std::byte>> variable_bytes;

  uint64_t clusters() const { return blocks / cluster_blocks; }
  // The block of that rank in a cluster, both counted x first.
  std::array<uint32_t, 3> BlockAt(uint64_t cluster_index, uint32_t rank) const {
    const auto at = Unflattened(cluster_index,
                                {grid[0] / cluster[0], grid[1] / cluster[1], grid[2] / cluster[2]});
    const auto inside = Unflattened(rank, cluster);
    std::array<uint32_t, 3> block_at;
    for (size_t i = 0; i < 3; ++i) block_at[i] = at[i] * cluster[i] + inside[i];
    return block_at;
  }
  uint64_t IndexOf(const std::array<uint32_t, 3>& at) const {
    return at[0] + uint64_t{grid[0]} * (at[1] + uint64_t{grid[1]} * at[2]);
  }
};

// Fills `plan`, which the windows of its memory point into. Errors: input for a request that does
// not fit the entry, unsupported for an instruction that is not executed.
Status MakePlan(const Module::Contents& contents, const LaunchRequest& request,
                const LaunchOptions& options, LaunchPlan& plan);

}  // namespace hloscope::ptx
