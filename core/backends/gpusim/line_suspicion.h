// SuspicionOfLines: which lines of a kernel wrong elements come from and right ones do not.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/backends/gpusim/kernel_case.h"
#include "core/ptx/ptx.h"

namespace hloscope::replay {

struct SuspicionQuestion {
  const KernelCase& kernels;
  const std::vector<ptx::Module>& code;
  const CaseMemory& before;  // the launch
  uint64_t launch = 0, argument = 0;
  uint64_t first = 0,
           worst = 0;  // bytes of the argument: where the array begins, the worst element
  std::array<uint32_t, 3> block{};  // that stores the worst element
  uint64_t element_bytes = 0;
  std::span<const uint8_t> states;  // StudiedByte::states
};

// Of the lines of the kernel from 0 to 1: in how many of a few wrong elements' slices they are, and
// in how few of right ones' (Ochiai's coefficient, as in spectrum-based fault localisation: Abreu,
// Zoeteweij, van Gemund, 2007). Elements of the block of the worst one, and right ones of other
// blocks where it has none. Empty where no element is right, or blocks do too much for it. Errors:
// those of running the launch.
Result<std::map<uint32_t, double>> SuspicionOfLines(const SuspicionQuestion& question,
                                                    const ptx::LaunchOptions& options);

}  // namespace hloscope::replay
