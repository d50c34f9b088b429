// Checker: what tensor cores read of shared and of tensor memory, and where it goes: a row of A or
// a column of B in which something is uninitialised spoils that row or column of D.
#include <algorithm>
#include <utility>

#include "core/ptx/checks/checker.h"
#include "core/ptx/machine/lanes.h"

namespace hloscope::ptx {

void Checker::TileChunk(Warp&, const TileChunkPlace& place) { chunk_ = place; }

// A read of the chunk that was told before it.
void Checker::NoteTileRead(const Spot& spot, uint32_t bytes) {
  const TileChunkPlace chunk = std::exchange(chunk_, {});
  if (chunk.count == 0 || !launch_.uninitialised) return;
  const uint64_t poison = PoisonOf(spot, bytes);
  if (poison == 0) return;
  std::vector<bool>& spoiled = chunk.of_b ? tile_columns_ : tile_rows_;
  for (uint32_t i = 0; i < chunk.count; ++i) {
    uint64_t mask = ~uint64_t{0};
    if (chunk.count > 1) {
      const uint32_t end = (i + 1) * chunk.element_bits;  // of its bits in the chunk
      if (end <= chunk.first_bit) continue;
      const uint32_t begin = std::max(i * chunk.element_bits, chunk.first_bit) - chunk.first_bit;
      const uint32_t first = begin / 8, last = (end - 1 - chunk.first_bit) / 8;
      mask = ((uint64_t{2} << (last - first)) - 1) << first;
    }
    if ((poison & mask) != 0 && chunk.first + i < spoiled.size()) spoiled[chunk.first + i] = true;
  }
  tile_spoiled_ = true;
}

void Checker::StartProduct() {
  if (!launch_.uninitialised) return;
  tile_rows_.assign(kTileRows, false);
  tile_columns_.assign(kTileColumns, false);
  tile_spoiled_ = false;
}

// What wgmma leaves in the registers of one of its four warps. D has the fragments of mma.sync,
// eight columns after eight; so has A where it lies in registers.
void Checker::FollowWarpGroup(Warp& warp, const Instruction& in, const Slot* s) {
  RegisterPoison& registers = PoisonOf(warp);
  if (!tile_spoiled_ && !registers.any()) return;
  const bool narrow = ModifierSums(in) == Sums::kF16;
  const bool a_in_registers = in.operation == Operation::kWarpGroupMultiplyRegisters;
  const uint32_t count = in.value / (narrow ? 4 : 2), per = narrow ? 2 : 1;
  const Slot* const rest = s + count + (a_in_registers ? 4 : 1) + 1;
  const uint32_t base = warp.first_thread / kLanes % 4 * 16;
  std::vector<bool> rows(tile_rows_);
  for (uint32_t r = 0; a_in_registers && r < 4; ++r) {
    const PoisonedLanes a = registers.Get(s[count + r]);
    for (uint32_t l = 0; l < kLanes; ++l)
      if (a[l] != 0) rows[base + l / 4 + 8 * (r & 1)] = true;
  }
  const bool adds = (ReadMask(warp, rest[0]) & 1) != 0;
  for (uint32_t r = 0; r < count; ++r) {
    PoisonedLanes d = adds ? registers.Get(s[r]) : PoisonedLanes{};
    for (uint32_t l = 0; l < kLanes; ++l) {
      for (uint32_t e = r * per; e < (r + 1) * per; ++e) {
        const uint32_t row = base + l / 4 + 8 * (e >> 1 & 1);
        const uint32_t column = 8 * (e / 4) + 2 * (l % 4) + (e & 1);
        if (rows[row] || tile_columns_[column]) d[l] = 0xff;
      }
    }
    registers.Put(s[r], d, kAllLanes);
  }
}

void Checker::TensorCells(Warp& warp, const TensorCellsUse& of_block) {
  if (!launch_.uninitialised) return;
  TensorCellsUse use = of_block;
  use.first += warp.block->rank * static_cast<uint32_t>(kTensorCells);
  const auto each = [&](auto f) {
    for (uint32_t i = 0; i < use.count; ++i) f(i, use.first + i);
  };
  switch (use.kind) {
    case TensorUse::kLoad:
      if (!tensor_unwritten_.AnyIn(use.first, use.first + use.count)) return;
      read_unwritten_ = true;
      loaded_cells_[use.slot][use.row] = 0xff;
      any_loaded_ = true;
      return;
    case TensorUse::kStore: {
      const uint64_t poison = PoisonOf(warp).Get(product_slots_[use.slot])[use.row];
      each([&](uint32_t, uint64_t cell) { tensor_unwritten_.Put(cell, 1, poison != 0 ? 1 : 0); });
      return;
    }
    case TensorUse::kFactor:
      if (!tensor_unwritten_.AnyIn(use.first, use.first + use.count)) return;
      tile_rows_[use.row] = true;
      return;
    case TensorUse::kFactorOfB:
      if (!tensor_unwritten_.AnyIn(use.first, use.first + use.count)) return;
      tile_columns_[use.row] = true;
      return;
    case TensorUse::kCopy:
      each([&](uint32_t, uint64_t cell) {
        tensor_unwritten_.Put(cell, 1, tile_columns_[use.row] ? 1 : 0);
      });
      return;
    case TensorUse::kSums:
    case TensorUse::kSumsAdded:
      each([&](uint32_t column, uint64_t cell) {
        const bool held = use.kind == TensorUse::kSumsAdded && tensor_unwritten_.Get(cell, 1) != 0;
        const bool spoiled = tile_rows_[use.row] || tile_columns_[column] || held;
        tensor_unwritten_.Put(cell, 1, spoiled ? 1 : 0);
      });
      return;
  }
}

void Checker::StartTensorAccess(const Instruction& in, const Slot* slots) {
  if (!launch_.uninitialised) return;
  product_slots_ = slots;
  any_loaded_ = false;
  if (in.operation == Operation::kTensorLoad) loaded_cells_.assign(in.slot_count, {});
}

// Into the registers, over what a poisoned address has left there.
void Checker::FinishTensorLoad(Warp& warp, const Instruction& in, const Slot* slots) {
  if (!launch_.uninitialised || !any_loaded_) return;
  for (uint32_t r = 0; r < in.slot_count && slots[r].written; ++r) {
    PoisonedLanes lanes = PoisonOf(warp).Get(slots[r]);
    for (uint32_t l = 0; l < kLanes; ++l) lanes[l] |= loaded_cells_[r][l];
    PoisonOf(warp).Put(slots[r], lanes, kAllLanes);
  }
}

}  // namespace hloscope::ptx
