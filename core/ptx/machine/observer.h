// What watches a block while it runs: checks and traces. A block without one pays nothing.
#pragma once

#include "core/ptx/machine/state.h"

namespace hloscope::ptx {

// One access of one lane, inside the bounds of its window.
struct MemoryAccess {
  uint64_t window = 0;  // kSharedWindow, kLocalWindow, …: see ir/program.h
  uint64_t offset = 0;  // in it
  uint32_t bytes = 0;
  bool writes = false;
  const std::byte* value = nullptr;  // what is written; reads: what is there
  const std::byte* held = nullptr;   // what is there before a write
  const Block* owner = nullptr;      // of shared memory: the block of the cluster that has it
};

// What PhaseEnds calls the barrier of a cluster: no address of shared memory is as high.
inline constexpr uint64_t kClusterBarrier = uint64_t{1} << (kWindowShift + 1);

// The rows of A, or columns of B, that the next read of a chunk of a matrix in shared memory is of,
// and from which bit of the chunk on it is read.
struct TileChunkPlace {
  bool of_b = false;
  uint32_t first = 0, count = 0;
  uint32_t element_bits = 0, first_bit = 0;
};

// Cells of tensor memory side by side: lane · 512 + column. Of loads and stores `row` is the lane
// of the warp and `slot` the register among the operands, of products `row` is that of A and D, or
// the column of B, of copies that of the chunk that was told last.
enum class TensorUse : uint8_t { kLoad, kStore, kCopy, kFactor, kFactorOfB, kSums, kSumsAdded };
struct TensorCellsUse {
  TensorUse kind = TensorUse::kLoad;
  uint32_t row = 0, slot = 0;
  uint32_t first = 0, count = 0;
};

class Observer {
 public:
  virtual ~Observer() = default;
  // A block begins; `index` counts x first.
  virtual void Starts(Block&, uint64_t /*index*/) {}
  // Around every instruction, control included, that at least one lane executes; Block::pc is its
  // place. Before a branch, a barrier or a return there is no After.
  virtual void Before(Warp&, const Instruction&, const Slot* /*slots*/, uint32_t /*mask*/) {}
  virtual void After(Warp&, const Instruction&, const Slot* /*slots*/, uint32_t /*mask*/) {}
  // The lanes that come to an instruction and do not execute it, as its guard says; of a branch
  // those that go on behind it. Block::pc is its place.
  virtual void Skips(Warp&, const Instruction&, const Slot* /*slots*/, uint32_t /*mask*/) {}
  // Whether every access is to be told; else those of all lanes may go together, untold.
  virtual bool WantsAccesses() const { return true; }
  virtual void Accesses(Warp&, uint32_t /*lane*/, const MemoryAccess&) {}
  // Of wgmma and tcgen05: before each read of a chunk, and for each use of tensor memory.
  virtual void TileChunk(Warp&, const TileChunkPlace&) {}
  virtual void TensorCells(Warp&, const TensorCellsUse&) {}
  // All threads that it waits for have come.
  virtual void BarrierOpens(Block&, uint32_t /*barrier*/) {}
  // The phase of the mbarrier at that address of shared memory is complete.
  virtual void PhaseEnds(Block&, uint64_t /*address*/) {}
};

}  // namespace hloscope::ptx
