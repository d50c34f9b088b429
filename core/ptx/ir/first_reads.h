// Which registers a kernel may read before it has written them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ptx/ir/program.h"

namespace hloscope::ptx {

// Bytes of the registers of a warp that have to be cleared before a block starts, in ascending
// order; the others are written before they are read on every way through the code. What another
// lane may read, and everything in code that is too large to look at, is cleared. Special registers
// are not among them.
std::vector<ByteRange> FirstReads(const Kernel& kernel);

}  // namespace hloscope::ptx
