// TrafficCounter: the sectors and conflicts of what lanes access at addresses of their own.
#pragma once

#include "core/ptx/machine/observer.h"

namespace hloscope::ptx {

// Of one thread that runs blocks. Counts by the addresses of an instruction before it is executed.
class TrafficCounter final : public Observer {
 public:
  // `next`: is told of everything, too; null: nobody.
  explicit TrafficCounter(Observer* next = nullptr) : next_(next) {}

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
  void Count(const Warp& warp, const Instruction& in, const Access& access, Slot slot,
             uint32_t mask);
  void CountCopies(const Warp& warp, const Instruction& in, Access read, const Slot* slots,
                   uint32_t mask);
  bool CountRow(const Warp& warp, const Instruction& in, const Access& access, Slot slot);
  void CountGlobal(const uint64_t* addresses, uint32_t lanes, const Access& access);
  void CountShared(const uint64_t* offsets, uint32_t lanes, const Access& access);

  Observer* next_;
  Traffic traffic_;
};

}  // namespace hloscope::ptx
