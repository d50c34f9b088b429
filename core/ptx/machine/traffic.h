// TrafficCounter: what accesses of warps cost on a GPU beside their bytes: sectors of global
// memory, turns of the banks of shared memory.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ptx/machine/observer.h"

namespace hloscope::ptx {

struct Traffic {
  explicit Traffic(size_t arguments = 0) : read_bytes(arguments), written_bytes(arguments) {}

  uint64_t global_read_sectors = 0, global_written_sectors = 0;
  uint64_t shared_read_conflicts = 0, shared_written_conflicts = 0;
  std::vector<uint64_t> read_bytes, written_bytes;  // by argument

  void Add(const Traffic& other);
};

// Of one thread that runs blocks. Counts by the addresses of an instruction before it is executed.
class TrafficCounter final : public Observer {
 public:
  // `next`: is told of everything, too; null: nobody.
  explicit TrafficCounter(size_t arguments, Observer* next = nullptr)
      : next_(next), traffic_(arguments) {}

  void Before(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask) override;
  void After(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask) override {
    if (next_ != nullptr) next_->After(warp, in, slots, mask);
  }
  bool WantsAccesses() const override { return next_ != nullptr && next_->WantsAccesses(); }
  void Accesses(Warp& warp, uint32_t lane, const MemoryAccess& access) override {
    if (next_ != nullptr) next_->Accesses(warp, lane, access);
  }
  void TileChunk(Warp& warp, const TileChunkPlace& place) override {
    if (next_ != nullptr) next_->TileChunk(warp, place);
  }
  void TensorCells(Warp& warp, const TensorCellsUse& use) override {
    if (next_ != nullptr) next_->TensorCells(warp, use);
  }
  void BarrierOpens(Block& block, uint32_t barrier) override {
    if (next_ != nullptr) next_->BarrierOpens(block, barrier);
  }
  void Skips(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask) override {
    if (next_ != nullptr) next_->Skips(warp, in, slots, mask);
  }
  void PhaseEnds(Block& block, uint64_t address) override {
    if (next_ != nullptr) next_->PhaseEnds(block, address);
  }

  const Traffic& traffic() const { return traffic_; }

 private:
  struct Access {
    StateSpace space = StateSpace::kNone;
    Slot slot;           // of the address
    uint32_t which = 0;  // of the instruction's two offsets
    uint32_t bytes = 0;  // of a lane
    bool reads = false, writes = false;
  };
  void CountAccesses(const Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask);
  void Count(const Warp& warp, const Instruction& in, const Access& access, uint32_t mask);
  bool CountRow(const Warp& warp, const Instruction& in, const Access& access);
  void NoteGlobal(uint64_t sectors, const Access& access);
  void NoteBytes(uint64_t address, uint64_t bytes, const Access& access);
  void CountGlobal(const uint64_t* addresses, uint32_t lanes, const Access& access);
  void CountShared(const uint64_t* offsets, uint32_t lanes, const Access& access);

  Observer* next_;
  Traffic traffic_;
};

}  // namespace hloscope::ptx
