// Steps that compute one lane at a time: what few kernels have.
#pragma once

#include "core/ptx/machine/lanes.h"

namespace hloscope::ptx {

inline constexpr uint32_t kMaxSlots = 6;

// What a lane reads, by slot, and what it is to write; a predicate is 0 or 1.
using LaneValues = uint64_t[kMaxSlots];

template <void (*kCompute)(const Instruction&, LaneValues&)>
void EachLane(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    LaneValues v = {};
    for (uint32_t i = 0; i < in.slot_count; ++i) {
      if (!s[i].written && s[i].present())
        v[i] = s[i].bytes == 0 ? ReadMask(w, s[i]) >> l & 1 : ReadLane(w, s[i], l);
    }
    kCompute(in, v);
    for (uint32_t i = 0; i < in.slot_count; ++i) {
      if (!s[i].written) continue;
      if (s[i].bytes == 0) {
        WriteMask(w, s[i], v[i] != 0 ? kAllLanes : 0, 1u << l);
      } else {
        WriteLane(w, s[i], l, v[i]);
      }
    }
  }
}

}  // namespace hloscope::ptx
