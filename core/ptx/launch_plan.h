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
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  uint64_t blocks = 1, threads = 1, warps = 1;  // of the grid; of a block
  uint64_t shared_bytes = 0;                    // of a block
  uint64_t in_flight = 1;                       // blocks
  uint32_t target = 0;                          // sm number
  LaunchMemory memory;
  std::vector<std::byte> parameter_bytes;
  std::vector<std::vector<std::byte>> variable_bytes;
};

// Fills `plan`, which the windows of its memory point into. Errors: input for a request that does
// not fit the entry, unsupported for an instruction that is not executed.
Status MakePlan(const Module::Contents& contents, const LaunchRequest& request,
                const LaunchOptions& options, LaunchPlan& plan);

}  // namespace hloscope::ptx
