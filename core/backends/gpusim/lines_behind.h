// LinesBehind: which lines of a kernel led to what a check found there.
#pragma once

#include <optional>
#include <string>

#include "core/ptx/ptx.h"

namespace hloscope::replay {

// The lines that the access of a finding comes from, nearest first and each once: its address, its
// value, and what decided that it was done; of a race those of both accesses. In words, to go
// behind what was found. The block runs once more on the memory of the arguments as it is now, and
// that is put back. Empty where the block does not come to the same again, as one may that reads
// what it wrote; where it cannot be run again, the reason.
std::string LinesBehind(const ptx::Finding& finding, const ptx::Module& module,
                        const ptx::LaunchRequest& request, const ptx::LaunchOptions& options);
// Of an access beyond memory: only where the block ends at it again.
std::string LinesBehind(const ptx::Fault& fault, const ptx::Module& module,
                        const ptx::LaunchRequest& request, const ptx::LaunchOptions& options);

}  // namespace hloscope::replay
