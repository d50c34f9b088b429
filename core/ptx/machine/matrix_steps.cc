// mma.sync, and matrices between shared memory and registers.
#include "core/ptx/machine/access.h"
#include "core/ptx/machine/matrix_form.h"
#include "core/ptx/machine/steps.h"
#include "core/ptx/machine/unit_begin.h"

namespace hloscope::ptx::inline HLOSCOPE_UNIT {
namespace {

// Registers of 32 bits of the slots from `s` on: a slot of 64 bits is two, its low half first.
void Gather(const Warp& w, const Slot* s, int registers, uint32_t (*into)[kLanes]) {
  for (int r = 0; r < registers; ++r) {
    const uint32_t parts = s[0].bytes / 4;
    const Slot slot = s[static_cast<uint32_t>(r) / parts];
    for (uint32_t l = 0; l < kLanes; ++l) {
      into[r][l] =
          static_cast<uint32_t>(ReadLane(w, slot, l) >> (32 * (static_cast<uint32_t>(r) % parts)));
    }
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
    for (uint32_t l = 0; l < kLanes; ++l) {
      const uint64_t high = parts == 2 ? uint64_t{d[r + 1][l]} << 32 : 0;
      WriteLane(w, s[r / parts], l, high | d[r][l]);
    }
  }
}

StateSpace SpaceOf(const Instruction& in) { return ModifierStateSpace(in); }

// Row i of matrix x lies where lane 8 * x + i says.
void LoadMatrices(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  if (m != kAllLanes) return w.block->Fail("ldmatrix without all 32 lanes", w.first_thread);
  const uint32_t matrices = in.slot_count - 1;
  uint16_t values[4][8][8];
  for (uint32_t l = 0; l < 8 * matrices; ++l) {
    const uint64_t address = AddressOf(w, in, s[matrices], l);
    if (address % 16 != 0)
      return w.block->Fail("a row of ldmatrix at no multiple of 16 bytes", w.first_thread + l,
                           address);
    if (!Load(w, SpaceOf(in), address, l, values[l / 8][l % 8], 16)) return;
  }
  const bool trans = ModifierTrans(in) == Trans::kOn;
  for (uint32_t x = 0; x < matrices; ++x) {
    Values<uint32_t> d;
    for (uint32_t l = 0; l < kLanes; ++l) {
      const uint32_t i = l / 4, j = l % 4 * 2;
      const uint32_t low = trans ? values[x][j][i] : values[x][i][j];
      const uint32_t high = trans ? values[x][j + 1][i] : values[x][i][j + 1];
      d.v[l] = low | high << 16;
    }
    Write(w, s[x], d, m);
  }
}

void StoreMatrices(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  if (m != kAllLanes) return w.block->Fail("stmatrix without all 32 lanes", w.first_thread);
  const uint32_t matrices = in.slot_count - 1;
  uint16_t values[4][8][8];
  const bool trans = ModifierTrans(in) == Trans::kOn;
  for (uint32_t x = 0; x < matrices; ++x) {
    const auto a = Read<uint32_t>(w, s[1 + x]);
    for (uint32_t l = 0; l < kLanes; ++l) {
      const uint32_t i = l / 4, j = l % 4 * 2;
      (trans ? values[x][j][i] : values[x][i][j]) = static_cast<uint16_t>(a.v[l]);
      (trans ? values[x][j + 1][i] : values[x][i][j + 1]) = static_cast<uint16_t>(a.v[l] >> 16);
    }
  }
  for (uint32_t l = 0; l < 8 * matrices; ++l) {
    const uint64_t address = AddressOf(w, in, s[0], l);
    if (address % 16 != 0)
      return w.block->Fail("a row of stmatrix at no multiple of 16 bytes", w.first_thread + l,
                           address);
    if (!Store(w, SpaceOf(in), address, l, values[l / 8][l % 8], 16)) return;
  }
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
