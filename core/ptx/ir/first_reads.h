// Which registers a kernel may read before it has written them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ptx/ir/program.h"

namespace hloscope::ptx {

// Bytes of the registers of a warp, in ascending order. Special registers are not among them.
struct FirstReads {
  // Not on every way through the code written before they are read; everything in code that is too
  // large to look at.
  std::vector<ByteRange> read;
  // Sums of a warp group that may be added to before they are written, if they are added to.
  std::vector<ByteRange> sums;
  // Those, and what another lane may read: what has to be cleared before a block starts.
  std::vector<ByteRange> cleared;
};
FirstReads FindFirstReads(const Kernel& kernel);

}  // namespace hloscope::ptx
