// What `diverge` found in kernels of a simulated GPU, for people.
#pragma once

#include <string>

#include "core/debug/explain/diverge/kernel_finding.h"

namespace hloscope::app {

// Counts, the worst element with the thread that stored it, and the last lines of its slice.
std::string KernelFindingText(const debug::KernelFinding& finding);

}  // namespace hloscope::app
