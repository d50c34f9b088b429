// tcgen05: columns of tensor memory given out and taken back, and its copies to and from registers.
#include "core/ptx/machine/access.h"
#include "core/ptx/machine/observer.h"
#include "core/ptx/machine/steps.h"
#include "core/ptx/machine/tensor_memory.h"

namespace hloscope::ptx {
namespace {

void AllocateColumns(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  if (m != kAllLanes) return w.block->Fail("tcgen05.alloc without all 32 lanes", w.first_thread);
  const auto columns = static_cast<uint32_t>(ReadLane(w, s[1], 0));
  if (columns < 32 || columns > 512 || (columns & (columns - 1)) != 0) {
    return w.block->Fail("columns of tensor memory go by powers of two from 32 to 512",
                         w.first_thread);
  }
  auto& memory = w.block->tensor_memory;
  if (memory == nullptr) memory = std::make_shared<TensorMemory>();
  const auto first = memory->Allocate(columns);
  if (!first.has_value()) {
    return w.block->Fail(
        "the block already holds so many of the 512 columns of tensor memory that it would wait "
        "forever",
        w.first_thread);
  }
  Store(w, ModifierStateSpace(in), AddressOf(w, in, s[0], 0), 0, &*first, 4);
}

void FreeColumns(Warp& w, const Instruction&, const Slot* s, uint32_t m) {
  if (m != kAllLanes) return w.block->Fail("tcgen05.dealloc without all 32 lanes", w.first_thread);
  const auto address = static_cast<uint32_t>(ReadLane(w, s[0], 0));
  const auto columns = static_cast<uint32_t>(ReadLane(w, s[1], 0));
  TensorMemory* memory = w.block->tensor_memory.get();
  if (memory != nullptr && memory->Free(address, columns)) return;
  w.block->Fail("tensor memory that was not allocated like this", w.first_thread, address);
}

// Which cell a register of a lane is, counted from the address of the instruction (of 16x32bx2:
// from that of its half).
struct Cell {
  uint32_t lane, column;
};
Cell CellOf(Lanes shape, uint32_t l, uint32_t r) {
  switch (shape) {
    case Lanes::k16x64:
      return {l / 4 + 8 * (l >> 1 & 1), 2 * r + (l & 1)};
    case Lanes::k16x128:
      return {l / 4 + 8 * (r & 1), 4 * (r / 2) + l % 4};
    case Lanes::k16x256:
      return {l / 4 + 8 * (r >> 1 & 1), 8 * (r / 4) + 2 * (l % 4) + (r & 1)};
    case Lanes::k16x32x2:
      return {l % 16, r};
    default:
      return {l, r};
  }
}

// The place of a warp in tensor memory: of the 128 lanes it reaches a quarter.
class Quarter {
 public:
  // `split`: columns between the halves of 16x32bx2; `scale`: columns for one of the shape.
  Quarter(Warp& w, const Instruction& in, uint32_t address, uint32_t split)
      : warp_(w),
        lane_(address >> 16),
        column_(address & 0xffff),
        split_(split),
        shape_(ModifierLanes(in)),
        scale_(ModifierPacking(in) != Packing::kNone ? 2 : 1) {}

  // False and a fault where the warp cannot reach what `registers` stand for.
  bool Check(uint32_t registers) {
    const bool has_one =
        shape_ == Lanes::k32x32 || shape_ == Lanes::k16x32x2;  // a column for each register
    const uint32_t columns = (has_one ? registers : 2 * registers) * scale_ + split_;
    const uint32_t first = warp_.first_thread / kLanes % 4 * 32;
    const bool fits = shape_ == Lanes::k32x32 ? lane_ == first : lane_ / 16 * 16 == lane_;
    TensorMemory* memory = warp_.block->tensor_memory.get();
    if (fits && lane_ / 32 * 32 == first && memory != nullptr && memory->Holds(column_, columns))
      return true;
    const uint32_t address = lane_ << 16 | column_;
    warp_.block->Fail(fits && lane_ / 32 * 32 == first
                          ? "columns of tensor memory that were not allocated"
                          : "lanes of tensor memory that this warp does not reach: warp w of four "
                            "has lanes 32 * w "
                            "to 32 * w + 31",
                      warp_.first_thread, address);
    return false;
  }

  uint32_t& At(uint32_t l, uint32_t r, uint32_t half = 0) {
    const Cell cell = PlaceOf(l, r);
    return warp_.block->tensor_memory->At(cell.lane, cell.column + half);
  }

  // Tells who watches of the cells of register `r`, which is operand `slot`, of all lanes.
  void Tell(TensorUse kind, uint32_t r, uint32_t slot) const {
    Observer* const observer = warp_.block->observer;
    for (uint32_t l = 0; l < kLanes && observer != nullptr; ++l) {
      const Cell cell = PlaceOf(l, r);
      observer->TensorCells(warp_,
                            {kind, l, slot, TensorMemory::CellAt(cell.lane, cell.column), scale_});
    }
  }

 private:
  Cell PlaceOf(uint32_t l, uint32_t r) const {
    const Cell cell = CellOf(shape_, l, r);
    return {lane_ + cell.lane, column_ + scale_ * cell.column + (l < 16 ? 0 : split_)};
  }

  Warp& warp_;
  uint32_t lane_, column_, split_;
  Lanes shape_;
  uint32_t scale_;
};

// registers, address, and for 16x32bx2 how many columns lie between its halves.
void LoadColumns(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  if (m != kAllLanes) return w.block->Fail("tcgen05.ld without all 32 lanes", w.first_thread);
  const bool has_split = ModifierLanes(in) == Lanes::k16x32x2,
             packs = ModifierPacking(in) != Packing::kNone;
  const uint32_t registers = in.slot_count - (has_split ? 2 : 1);
  const Slot* const rest = s + registers;
  const uint32_t split = has_split ? static_cast<uint32_t>(ReadLane(w, rest[1], 0)) : 0;
  Quarter quarter(w, in, static_cast<uint32_t>(AddressOf(w, in, rest[0], 0)), split);
  if (!quarter.Check(registers)) return;
  for (uint32_t r = 0; r < registers; ++r) {
    Values<uint32_t> values;
    for (uint32_t l = 0; l < kLanes; ++l) {
      values.v[l] =
          packs ? (quarter.At(l, r) & 0xffff) | quarter.At(l, r, 1) << 16 : quarter.At(l, r);
    }
    quarter.Tell(TensorUse::kLoad, r, r);
    Write(w, s[r], values, m);
  }
}

// address, for 16x32bx2 the columns between its halves, registers.
void StoreColumns(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  if (m != kAllLanes) return w.block->Fail("tcgen05.st without all 32 lanes", w.first_thread);
  const bool has_split = ModifierLanes(in) == Lanes::k16x32x2,
             unpacks = ModifierPacking(in) != Packing::kNone;
  const uint32_t registers = in.slot_count - (has_split ? 2 : 1);
  const uint32_t split = has_split ? static_cast<uint32_t>(ReadLane(w, s[1], 0)) : 0;
  const Slot* const from = s + (has_split ? 2 : 1);
  Quarter quarter(w, in, static_cast<uint32_t>(AddressOf(w, in, s[0], 0)), split);
  if (!quarter.Check(registers)) return;
  for (uint32_t r = 0; r < registers; ++r) {
    quarter.Tell(TensorUse::kStore, r, static_cast<uint32_t>(from - s) + r);
    const auto values = Read<uint32_t>(w, from[r]);
    for (uint32_t l = 0; l < kLanes; ++l) {
      if (unpacks) {
        quarter.At(l, r) = values.v[l] & 0xffff;
        quarter.At(l, r, 1) = values.v[l] >> 16;
      } else {
        quarter.At(l, r) = values.v[l];
      }
    }
  }
}

}  // namespace

Step TensorMemoryStep(const Instruction& i) {
  // Up to 128 registers, a power of two of repetitions.
  const bool fits = (i.value & (i.value - 1)) == 0 && i.slot_count <= 130;
  switch (i.operation) {
    case Operation::kTensorAllocate:
      return AllocateColumns;
    case Operation::kTensorFree:
      return FreeColumns;
    case Operation::kTensorLoad:
      return fits ? LoadColumns : nullptr;
    case Operation::kTensorStore:
      return fits ? StoreColumns : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace hloscope::ptx
