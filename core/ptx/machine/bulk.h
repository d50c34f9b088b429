// What bulk copies share, with a tensor map and without.
#pragma once

#include <optional>

#include "core/ptx/machine/access.h"

namespace hloscope::ptx {

inline constexpr uint32_t kChunk = 16;  // bytes

// .multicast::cluster has a mask of blocks as operand `number`: f(rank) for each that is in it.
// Else f(nullopt) once; false where one of them gave false or there is no such block.
template <typename F>
bool ForTargets(Warp& w, const Instruction& in, const Slot* s, uint32_t number, uint32_t lane,
                F f) {
  if (in.slot_count <= number || s[number].bytes != 2) return f(std::optional<uint32_t>());
  const uint64_t mask = ReadLane(w, s[number], lane);
  if (mask >> w.block->cluster->blocks.size() != 0) {
    w.block->Fail("a multicast to a block that its cluster does not have", w.first_thread + lane);
    return false;
  }
  for (uint32_t rank = 0; mask >> rank != 0; ++rank) {
    if ((mask >> rank & 1) != 0 && !f(std::optional(rank))) return false;
  }
  return true;
}

inline uint64_t AddressIn(uint64_t address, std::optional<uint32_t> rank) {
  return rank ? InBlock(address, *rank) : address;
}

}  // namespace hloscope::ptx
