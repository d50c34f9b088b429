// Every access to memory: an address to bytes that its window holds, or a fault.
#pragma once

#include <algorithm>

#include "core/ptx/machine/lanes.h"

namespace hloscope::ptx {

// The window that an address of a state space names, and its offset in it.
inline uint64_t WindowOf(StateSpace space, uint64_t address) {
  switch (space) {
    case StateSpace::kShared:
    case StateSpace::kSharedCta:
    case StateSpace::kSharedCluster:
      return kSharedWindow;
    case StateSpace::kLocal:
      return kLocalWindow;
    case StateSpace::kParam:
    case StateSpace::kParamEntry:
      return kParamWindow;
    default:
      return address >> kWindowShift;
  }
}
inline uint64_t OffsetOf(StateSpace space, uint64_t address) {
  const bool in_space =
      space != StateSpace::kNone && space != StateSpace::kGlobal && space != StateSpace::kConst;
  return in_space ? address : address & ((uint64_t{1} << kWindowShift) - 1);
}

// The window that addresses of a state space lie in, for one thread of the block.
struct WindowPlace {
  const Window* window = nullptr;
  uint64_t offset = 0;
  Block* owner = nullptr;  // of shared memory
};

// Where `address` of `space` points to for lane `lane`; a null window where there is none.
WindowPlace Locate(Warp& warp, StateSpace space, uint64_t address, uint32_t lane, Window& scratch);

// Copies `bytes` from or to `address`. Notes a fault and gives false where the access is outside of
// its window (reads: beyond its padding), misaligned, or a write to what cannot be written.
bool Load(Warp& warp, StateSpace space, uint64_t address, uint32_t lane, void* into,
          uint32_t bytes);
bool Store(Warp& warp, StateSpace space, uint64_t address, uint32_t lane, const void* from,
           uint32_t bytes);

// Adds what an instruction accesses of memory to the counters of its block where the run alone
// knows it (ir/accesses.def).
void CountAccess(Warp& warp, AccessMode mode, StateSpace space, uint64_t address, uint64_t bytes);

// Every write goes through Store or is noted here: up to `end` of its window. What was written of
// shared memory is poison again when the next block starts.
inline void NoteStore(const WindowPlace& place, uint64_t end) {
  if (place.owner != nullptr)
    place.owner->shared_written = std::max(place.owner->shared_written, end);
}

// An address of shared memory as the block of that rank has it.
inline uint64_t InBlock(uint64_t address, uint64_t rank) {
  return (address & ~kRankMask) | (rank + 1) << kRankShift;
}
// The rank that an address of shared memory names, or that of `block` where it names none.
inline uint64_t RankOf(const Block& block, uint64_t address) {
  const uint64_t rank = (address & kRankMask) >> kRankShift;
  return rank == 0 ? block.rank : rank - 1;
}

// The address operand of one lane, its offset added.
inline uint64_t AddressOf(const Warp& warp, const Instruction& in, Slot slot, uint32_t lane,
                          uint32_t which = 0) {
  return ReadLane(warp, slot, lane) + static_cast<uint64_t>(in.offsets[which]);
}

}  // namespace hloscope::ptx
