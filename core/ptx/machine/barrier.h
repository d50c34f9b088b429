// mbarrier: a barrier in 64 bits of shared memory that counts arrivals and bytes.
#pragma once

#include "core/ptx/machine/lanes.h"

namespace hloscope::ptx {

// `bytes` of an asynchronous copy have come (mbarrier::complete_tx::bytes). False and a fault where
// `address` holds no barrier.
bool CompleteBytes(Warp& warp, StateSpace space, uint64_t address, uint32_t lane, uint32_t bytes);
// One arrival; the same.
bool Arrive(Warp& warp, StateSpace space, uint64_t address, uint32_t lane);

// test_wait and try_wait of the lanes of `mask`, their predicates written: the lanes whose phase is
// not complete. A fault where there is no barrier.
uint32_t TestBarriers(Warp& warp, const Instruction& instruction, const Slot* slots, uint32_t mask);

}  // namespace hloscope::ptx
