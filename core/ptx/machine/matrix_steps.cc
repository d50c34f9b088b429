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

// Sums of f32, which have four registers, on registers of 32 bits as they are.
bool MultiplyInPlace(Warp& w, const MmaForm& form, const Slot* s, uint32_t slots) {
  if (form.d != Element::kF32) return false;
  for (uint32_t i = 0; i < slots; ++i) {
    if (s[i].bytes != sizeof(uint32_t)) return false;
  }
  const uint32_t b_registers = (slots - 8) / 3;
  const uint32_t* sources[12];  // a, b and c
  uint32_t* d[4];
  for (uint32_t i = 4; i < slots; ++i) sources[i - 4] = LanesOf<uint32_t>(w, s[i]);
  for (uint32_t i = 0; i < 4; ++i) d[i] = reinterpret_cast<InPlace<uint32_t>*>(TargetOf(w, s[i]));
  return MmaInPlace(form, sources, sources + 2 * b_registers, sources + 3 * b_registers, d);
}

void Multiply(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  if (m != kAllLanes) return w.block->Fail("mma.sync without all 32 lanes", w.first_thread);
  const MmaForm form = MmaFormOf(in, w.block->target);
  if (MultiplyInPlace(w, form, s, in.slot_count)) return;
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
  uint32_t a[16][kLanes], b[8][kLanes], c[8][kLanes], d[8][kLanes];
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

// What .trans does to a matrix of eight rows.
void Transpose(const void* from, void* into) {
  using Halves [[gnu::vector_size(64)]] = uint16_t;
  Halves halves[2];
  std::memcpy(&halves, from, sizeof halves);
  const Halves rows[2] = {__builtin_shufflevector(halves[0], halves[1], 0, 8, 16, 24, 32, 40, 48,
                                                  56, 1, 9, 17, 25, 33, 41, 49, 57, 2, 10, 18, 26,
                                                  34, 42, 50, 58, 3, 11, 19, 27, 35, 43, 51, 59),
                          __builtin_shufflevector(halves[0], halves[1], 4, 12, 20, 28, 36, 44, 52,
                                                  60, 5, 13, 21, 29, 37, 45, 53, 61, 6, 14, 22, 30,
                                                  38, 46, 54, 62, 7, 15, 23, 31, 39, 47, 55, 63)};
  std::memcpy(into, &rows, sizeof rows);
}

template <bool kWrites>
bool MoveRows(Warp& w, const Instruction& in, Slot slot, uint32_t matrices, Matrices& values) {
  const StateSpace space = ModifierStateSpace(in);
  const uint32_t rows = 8 * matrices;
  LaneBytes scratch;
  const LaneBytes* const lanes =
      Together::Find(w, in, slot, kAllLanes >> (kLanes - rows), 16, kWrites, scratch);
  if (lanes != nullptr) {
    for (uint32_t l = 0; l < rows; ++l) {
      if constexpr (kWrites) std::memcpy(lanes->At(l), values[l / 8][l % 8], 16);
      if constexpr (!kWrites) std::memcpy(values[l / 8][l % 8], lanes->At(l), 16);
    }
    return true;
  }
  for (uint32_t l = 0; l < rows; ++l) {
    const uint64_t address = AddressOf(w, in, slot, l);
    if (address % 16 != 0) {
      w.block->Fail(kWrites ? "a row of stmatrix that is not 16-byte aligned"
                            : "a row of ldmatrix that is not 16-byte aligned",
                    w.first_thread + l, address);
      return false;
    }
    if (kWrites ? !Store(w, space, address, l, values[l / 8][l % 8], 16)
                : !Load(w, space, address, l, values[l / 8][l % 8], 16))
      return false;
  }
  return true;
}

// Rows straight into registers; false: one by one.
bool LoadRows(Warp& w, const Instruction& in, const Slot* s, uint32_t matrices) {
  LaneBytes scratch;
  const LaneBytes* const lanes =
      Together::Find(w, in, s[matrices], kAllLanes >> (kLanes - 8 * matrices), 16, false, scratch);
  if (lanes == nullptr) return false;
  for (uint32_t x = 0; x < matrices; ++x) {
    std::byte* const d = TargetOf(w, s[x]);
    for (uint32_t row = 0; row < 8; ++row) std::memcpy(d + 16 * row, lanes->At(8 * x + row), 16);
  }
  return true;
}

// A lane has two neighbours of a row: rows follow each other as lanes do. Transposed: of a column.
void LoadMatrices(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  if (m != kAllLanes) return w.block->Fail("ldmatrix without all 32 lanes", w.first_thread);
  const uint32_t matrices = in.slot_count - 1;
  const bool trans = ModifierTrans(in) == Trans::kOn;
  if (!trans && LoadRows(w, in, s, matrices)) return;
  Matrices values;
  if (!MoveRows<false>(w, in, s[matrices], matrices, values)) return;
  for (uint32_t x = 0; x < matrices; ++x) {
    std::byte* const d = TargetOf(w, s[x]);
    if (trans) {
      Transpose(values[x], d);
    } else {
      std::memcpy(d, values[x], sizeof values[x]);
    }
  }
}

void StoreMatrices(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  if (m != kAllLanes) return w.block->Fail("stmatrix without all 32 lanes", w.first_thread);
  const uint32_t matrices = in.slot_count - 1;
  Matrices values;
  const bool trans = ModifierTrans(in) == Trans::kOn;
  for (uint32_t x = 0; x < matrices; ++x) {
    const std::byte* const a = SourceOf(w, s[1 + x]);
    if (trans) {
      Transpose(a, values[x]);
    } else {
      std::memcpy(values[x], a, sizeof values[x]);
    }
  }
  MoveRows<true>(w, in, s[0], matrices, values);
}

// The matrix of ldmatrix.x1, its rows in place of its columns.
void MoveMatrix(Warp& w, const Instruction&, const Slot* s, uint32_t m) {
  if (m != kAllLanes) return w.block->Fail("movmatrix without all 32 lanes", w.first_thread);
  Transpose(SourceOf(w, s[1]), TargetOf(w, s[0]));
}

}  // namespace

Step MatrixStep(const Instruction& i) {
  if (i.operation == Operation::kMmaNarrow) return nullptr;  // NarrowMmaStep
  if (IsMma(i.operation)) return Multiply;
  switch (i.operation) {
    case Operation::kLdmatrix:
      return LoadMatrices;
    case Operation::kStmatrix:
      return StoreMatrices;
    case Operation::kMovmatrix:
      return MoveMatrix;
    default:
      return nullptr;
  }
}

}  // namespace hloscope::ptx::inline HLOSCOPE_UNIT

#include "core/ptx/machine/unit_end.h"
