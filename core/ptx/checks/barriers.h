// By which number a checker's clocks know a barrier.
#pragma once

#include "core/ptx/machine/access.h"
#include "core/ptx/machine/state.h"

namespace hloscope::ptx {

// Shared addresses may be generic, and name the block of the cluster or not.
inline uint64_t BarrierAt(const Block& block, uint64_t address) {
  return InBlock(address & ((uint64_t{1} << kWindowShift) - 1), RankOf(block, address));
}

// Barriers of bar.sync among the mbarriers: no address is as high.
inline uint64_t NamedBarrier(const Block& block, uint64_t number) {
  return uint64_t{1} << kWindowShift | block.rank << 8 | number;
}

inline bool IsBarrier(Operation operation) {
  return operation == Operation::kBar || operation == Operation::kBarReduce;
}

}  // namespace hloscope::ptx
