// Which lines decide whether a loop goes on.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ptx/ir/program.h"

namespace hloscope::ptx {

// The lines of the instructions that the guard of a branch is computed by, wherever they are:
// nearest first, `most` at most.
std::vector<uint32_t> LinesOfCondition(const Kernel& kernel, uint32_t branch, size_t most);

}  // namespace hloscope::ptx
