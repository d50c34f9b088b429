// mma.sync, and matrices between shared memory and registers.
#include "core/ptx/machine/matrix_form.h"
#include "core/ptx/machine/steps.h"
#include "core/ptx/machine/together.h"
#include "core/ptx/machine/unit_begin.h"

namespace hloscope::ptx::inline HLOSCOPE_UNIT {
namespace {

// Registers of 32 bits of the slots from `s` on: a slot of 64 bits is two, its low half first.
void Gather(const Warp& w, const Slot* s, int registers, uint32_t (*into)[kLanes]) {
  for (int r = 0; r < registers; ++r) {
    const uint32_t parts = s[0].bytes / 4, part = static_cast<uint32_t>(r) % parts;
    const Slot slot = s[static_cast<uint32_t>(r) / parts];
    if (parts == 1) {
      std::memcpy(into[r], SourceOf(w, slot), sizeof into[r]);
      continue;
    }
    const auto* const from = LanesOf<uint64_t>(w, slot);
    for (uint32_t l = 0; l < kLanes; ++l)
      into[r][l] = static_cast<uint32_t>(from[l] >> (32 * part));
  }
}

void Multiply(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  if (m != kAllLanes) return w.block->Fail("mma.sync without all 32 lanes", w.first_thread);
  const MmaForm form = MmaFormOf(in, w.block->target);
  // d, a, b, c: as many slots each as their registers fill.
  const uint32_t parts = form.a == Element::kF64 ? 2 : 1;
  const Slot* slots[4] = {s};
  int registers[4];
  constexpr MmaOperand kOperands[] = {MmaOperand::kD, MmaOperand::kA, MmaOperand::kB,
                                      MmaOperand::kC};
  for (int i = 0; i < 4; ++i) {
    registers[i] = RegistersOf(form, kOperands[i]);
    if (i < 3) slots[i + 1] = slots[i] + static_cast<uint32_t>(registers[i]) / parts;
  }
  uint32_t a[4][kLanes], b[4][kLanes], c[4][kLanes], d[4][kLanes];
  Gather(w, slots[1], registers[1], a);
  Gather(w, slots[2], registers[2], b);
  Gather(w, slots[3], registers[3], c);
  Mma(form, a, b, c, d);
  for (uint32_t r = 0; r < static_cast<uint32_t>(registers[0]); r += parts) {
    if (parts == 1) {
      std::memcpy(TargetOf(w, s[r]), d[r], sizeof d[r]);
      continue;
    }
    for (uint32_t l = 0; l < kLanes; ++l)
      WriteLane(w, s[r / parts], l, uint64_t{d[r + 1][l]} << 32 | d[r][l]);
  }
}

// Row i of matrix x lies where lane 8 * x + i says, in 16 bytes.
using Matrices = uint16_t[4][8][8];

template <bool kWrites>
bool MoveRows(Warp& w, const Instruction& in, Slot slot, uint32_t matrices, Matrices& values) {
  const StateSpace space = ModifierStateSpace(in);
  const uint32_t rows = 8 * matrices;
  Together lanes;
  if (lanes.Find(w, space, slot, in.offsets[0], kAllLanes >> (kLanes - rows), 16, kWrites)) {
    for (uint32_t l = 0; l < rows; ++l) {
      if constexpr (kWrites) std::memcpy(lanes.At(l), values[l / 8][l % 8], 16);
      if constexpr (!kWrites) std::memcpy(values[l / 8][l % 8], lanes.At(l), 16);
    }
    return true;
  }
  for (uint32_t l = 0; l < rows; ++l) {
    const uint64_t address = AddressOf(w, in, slot, l);
    if (address % 16 != 0) {
      w.block->Fail(kWrites ? "a row of stmatrix at no multiple of 16 bytes"
                            : "a row of ldmatrix at no multiple of 16 bytes",
                    w.first_thread + l, address);
      return false;
    }
    if (kWrites ? !Store(w, space, address, l, values[l / 8][l % 8], 16)
                : !Load(w, space, address, l, values[l / 8][l % 8], 16))
      return false;
  }
  return true;
}

// A lane has two neighbours of a row: rows follow each other as lanes do. Transposed: of a column.
void LoadMatrices(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  if (m != kAllLanes) return w.block->Fail("ldmatrix without all 32 lanes", w.first_thread);
  const uint32_t matrices = in.slot_count - 1;
  Matrices values;
  if (!MoveRows<false>(w, in, s[matrices], matrices, values)) return;
  const bool trans = ModifierTrans(in) == Trans::kOn;
  for (uint32_t x = 0; x < matrices; ++x) {
    Values<uint32_t> d;
    if (!trans) std::memcpy(d.v, values[x], sizeof d.v);
    for (uint32_t l = 0; trans && l < kLanes; ++l) {
      const uint32_t i = l / 4, j = l % 4 * 2;
      d.v[l] = values[x][j][i] | uint32_t{values[x][j + 1][i]} << 16;
    }
    Write(w, s[x], d, m);
  }
}

void StoreMatrices(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  if (m != kAllLanes) return w.block->Fail("stmatrix without all 32 lanes", w.first_thread);
  const uint32_t matrices = in.slot_count - 1;
  Matrices values;
  const bool trans = ModifierTrans(in) == Trans::kOn;
  for (uint32_t x = 0; x < matrices; ++x) {
    const auto a = Read<uint32_t>(w, s[1 + x]);
    if (!trans) std::memcpy(values[x], a.v, sizeof a.v);
    for (uint32_t l = 0; trans && l < kLanes; ++l) {
      const uint32_t i = l / 4, j = l % 4 * 2;
      values[x][j][i] = static_cast<uint16_t>(a.v[l]);
      values[x][j + 1][i] = static_cast<uint16_t>(a.v[l] >> 16);
    }
  }
  MoveRows<true>(w, in, s[0], matrices, values);
}

}  // namespace

Step MatrixStep(const Instruction& i) {
  if (IsMma(i.operation)) return Multiply;
  switch (i.operation) {
    case Operation::kLdmatrix:
      return LoadMatrices;
    case Operation::kStmatrix:
      return StoreMatrices;
    default:
      return nullptr;
  }
}

}  // namespace hloscope::ptx::inline HLOSCOPE_UNIT

#include "core/ptx/machine/unit_end.h"
