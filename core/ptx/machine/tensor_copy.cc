// tcgen05.cp: rows of shared memory to tensor memory, done when it is issued. Source: PTX ISA,
// "tcgen05.cp" and "Data movement shape"; the rows of a descriptor are those of a matrix that is
// not transposed (ReadTile).
#include <cstring>

#include "core/ptx/machine/access.h"
#include "core/ptx/machine/observer.h"
#include "core/ptx/machine/shared_tile.h"
#include "core/ptx/machine/steps.h"
#include "core/ptx/machine/tensor_memory.h"

namespace hloscope::ptx {
namespace {

constexpr uint32_t kChunkCells = 4;

// Rows of chunks of 16 bytes, and where a row goes: to `copies` lanes, the first that of the row.
struct CopyForm {
  uint32_t rows, chunks, copies;
  uint32_t between;  // lanes between two copies
  uint32_t (*lane)(uint32_t row);
};

CopyForm FormOf(const Instruction& in) {
  const auto same = [](uint32_t row) { return row; };
  const auto far = [](uint32_t row) { return 32 * row; };
  const auto pairs = [](uint32_t row) { return row / 32 * 64 + row % 32; };
  if (ModifierCopyHalves(in) == CopyHalves::k02) return {64, 1, 2, 64, same};
  if (ModifierCopyHalves(in) == CopyHalves::k01) return {64, 1, 2, 32, pairs};
  if (ModifierCopyQuarters(in) == CopyQuarters::kOn) return {32, 1, 4, 32, same};
  switch (ModifierCopyShape(in)) {
    case CopyShape::k128x256:
      return {128, 2, 1, 0, same};
    case CopyShape::k4x256:
      return {4, 2, 1, 0, far};
    default:
      return {128, 1, 1, 0, same};
  }
}

// Elements of four bits lie in bits 2 to 5 of their bytes in tensor memory.
void SpreadElements(PackedElements packed, std::byte* chunk) {
  if (packed == PackedElements::kNone) return;
  UnpackElements(packed == PackedElements::kB4 ? 4 : 6, chunk);
  if (packed != PackedElements::kB4) return;
  for (uint32_t i = 0; i < 16; ++i) chunk[i] <<= 2;
}

bool CopyOf(Warp& w, const Instruction& in, const Slot* s, uint32_t lane) {
  const auto fail = [&](const char* what, uint64_t address) {
    w.block->Fail(what, w.first_thread + lane, address);
    return false;
  };
  const CopyForm form = FormOf(in);
  const char* refused = nullptr;
  const auto tile = Tcgen05Tile(ReadLane(w, s[1], lane), refused);
  if (!tile.has_value()) return fail(refused, 0);
  const auto address = static_cast<uint32_t>(AddressOf(w, in, s[0], lane));
  const uint32_t first_lane = address >> 16, column = address & 0xffff;
  TensorMemory* const memory = w.block->tensor_memory.get();
  if (memory == nullptr || !memory->Holds(column, form.chunks * kChunkCells))
    return fail("columns of tensor memory that were not allocated", address);
  if (first_lane + form.lane(form.rows - 1) + (form.copies - 1) * form.between >=
      TensorMemory::kLanes) {
    return fail("a copy that goes beyond the 128 lanes of tensor memory", address);
  }
  const PackedElements packed = ModifierPackedElements(in);
  const uint32_t bits = packed == PackedElements::kNone ? 8 : packed == PackedElements::kB4 ? 4 : 6;
  CountAccess(w, AccessMode::kRead, StateSpace::kSharedCta, tile->start,
              form.rows * form.chunks * 2 * bits);
  Observer* const observer = w.block->observer;
  for (uint32_t row = 0; row < form.rows; ++row) {
    for (uint32_t chunk = 0; chunk < form.chunks; ++chunk) {
      std::byte bytes[16] = {};
      const uint32_t number = row * form.chunks + chunk;
      if (!LoadChunk(w, lane, AddressOfRow(*tile, row, chunk), bits, {true, number, 1, 8}, bytes))
        return false;
      SpreadElements(packed, bytes);
      for (uint32_t copy = 0; copy < form.copies; ++copy) {
        const uint32_t to = first_lane + form.lane(row) + copy * form.between;
        const uint32_t cell = column + chunk * kChunkCells;
        std::memcpy(&memory->At(to, cell), bytes, sizeof bytes);
        if (observer != nullptr) {
          observer->TensorCells(
              w, {TensorUse::kCopy, number, 0, TensorMemory::CellAt(to, cell), kChunkCells});
        }
      }
    }
  }
  return true;
}

void CopyToTensorMemory(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  for (uint32_t l = 0; l < kLanes; ++l)
    if ((m >> l & 1) != 0 && !CopyOf(w, in, s, l)) return;
}

}  // namespace

Step TensorCopyStep(const Instruction& in) {
  return in.operation == Operation::kTensorCopy ? CopyToTensorMemory : nullptr;
}

}  // namespace hloscope::ptx
