// RegisterPoison: which bytes of the registers of a warp come from memory that nobody wrote.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/ptx/machine/state.h"

namespace hloscope::ptx {

// Of a register: for each lane a bit for each of its bytes; of a predicate all bits or none.
using PoisonedLanes = std::array<uint8_t, kLanes>;

class RegisterPoison {
 public:
  // As many bytes as the registers of a warp have.
  void Assign(uint64_t register_bytes) {
    Clear();
    register_bytes_ = register_bytes;
  }
  // Nothing is poisoned.
  void Clear();
  // False: nothing is poisoned, and there is no need to follow instructions.
  bool any() const { return any_; }

  PoisonedLanes Get(const Slot& slot) const;
  // Of the lanes in `mask`; poison that a guard holds goes to whatever stands under it.
  void Put(const Slot& slot, const PoisonedLanes& lanes, uint32_t mask);
  // All of the registers there.
  void Spoil(const ByteRange& registers);
  // The lanes whose predicate at that offset (Slot::kAbsent: none) is poisoned.
  uint32_t Guard(uint32_t offset) const;

  // What an instruction that touches no memory makes of it; before the instruction is executed.
  void Follow(const Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask);

 private:
  // Of the `number`-th part of an unpacked value; else of all that it writes.
  PoisonedLanes Computed(const Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask,
                         uint32_t number) const;
  void Multiply(const Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask);
  void NoteFactors(const Warp& warp, const Slot* slots, bool* rows, bool* columns);
  PoisonedLanes Shuffled(const Warp& warp, const Instruction& in, const Slot* slots,
                         uint32_t mask) const;

  // Laid out as the registers are: a byte for each lane from the register's offset on, a mask of
  // lanes for a predicate.
  std::vector<uint8_t> shadow_;
  uint64_t register_bytes_ = 0;
  bool any_ = false;  // else `shadow_` may be empty, and is all zeros
};

}  // namespace hloscope::ptx
