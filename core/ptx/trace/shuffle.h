// Where a shuffle takes its value from, as the PTX ISA says it.
#pragma once

#include "core/ptx/ir/program.h"

namespace hloscope::ptx {

struct ShuffledLane {
  uint32_t lane = 0;    // its own where the source is out of range
  bool inside = false;  // what the second destination gets
};

// shfl.sync d|p, a, b, c for `lane`: c holds the clamp in bits 0 to 4 and the mask of segments in
// bits 8 to 12.
inline ShuffledLane ShuffledFrom(Shuffle mode, uint32_t lane, uint32_t b, uint32_t c) {
  const auto by = static_cast<int>(b & 31), clamp = static_cast<int>(c & 31),
             segment = static_cast<int>(c >> 8 & 31), own = static_cast<int>(lane);
  const int first = own & segment, last = first | (clamp & ~segment);
  int from = own;
  bool inside = false;
  if (mode == Shuffle::kUp) {
    from = own - by;
    inside = from >= last;
  } else if (mode == Shuffle::kDown) {
    from = own + by;
    inside = from <= last;
  } else if (mode == Shuffle::kBfly) {
    from = own ^ by;
    inside = from <= last;
  } else {
    from = first | (by & ~segment);
    inside = from <= last;
  }
  return {inside ? static_cast<uint32_t>(from) & 31 : lane, inside};
}

}  // namespace hloscope::ptx
