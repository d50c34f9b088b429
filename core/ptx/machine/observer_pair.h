// Two observers where one is asked for.
#pragma once

#include "core/ptx/machine/observer.h"

namespace hloscope::ptx {

class ObserverPair final : public Observer {
 public:
  ObserverPair(Observer& a, Observer& b) : a_(a), b_(b) {}

  void Starts(Block& block, uint64_t index) override {
    a_.Starts(block, index);
    b_.Starts(block, index);
  }
  void Before(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask) override {
    a_.Before(warp, in, slots, mask);
    b_.Before(warp, in, slots, mask);
  }
  void After(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask) override {
    a_.After(warp, in, slots, mask);
    b_.After(warp, in, slots, mask);
  }
  void Skips(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask) override {
    a_.Skips(warp, in, slots, mask);
    b_.Skips(warp, in, slots, mask);
  }
  bool WantsAccesses() const override { return a_.WantsAccesses() || b_.WantsAccesses(); }
  void Accesses(Warp& warp, uint32_t lane, const MemoryAccess& access) override {
    a_.Accesses(warp, lane, access);
    b_.Accesses(warp, lane, access);
  }
  void TileChunk(Warp& warp, const TileChunkPlace& place) override {
    a_.TileChunk(warp, place);
    b_.TileChunk(warp, place);
  }
  void TensorCells(Warp& warp, const TensorCellsUse& use) override {
    a_.TensorCells(warp, use);
    b_.TensorCells(warp, use);
  }
  void BarrierOpens(Block& block, uint32_t barrier) override {
    a_.BarrierOpens(block, barrier);
    b_.BarrierOpens(block, barrier);
  }
  void PhaseEnds(Block& block, uint64_t address) override {
    a_.PhaseEnds(block, address);
    b_.PhaseEnds(block, address);
  }

 private:
  Observer& a_;
  Observer& b_;
};

}  // namespace hloscope::ptx
