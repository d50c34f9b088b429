// wgmma.mma_async: D = A·B + D of the four warps of a warp group, done when the last of them has
// come to it. Warp w has rows 16 * w to 16 * w + 15 of D, and of A where that lies in registers.
#include <cstring>

#include "core/ptx/machine/matrix_form.h"
#include "core/ptx/machine/shared_tile.h"
#include "core/ptx/machine/steps.h"
#include "core/ptx/machine/tile_products.h"
#include "core/ptx/tensor/steps.h"

namespace hloscope::ptx {
namespace {

constexpr uint32_t kWarps = 4, kRows = 64, kRowBytes = 32;

struct Operands {
  const Slot* d;
  uint32_t registers;  // of d
  const Slot* a;       // a descriptor, or four registers
  bool a_in_registers;
  const Slot* b;
  const Slot* rest;  // whether D is added, then signs and transpositions
  uint32_t rest_count;
};

Operands OperandsOf(const TileForm& form, const Instruction& in, const Slot* s) {
  Operands o;
  o.d = s;
  o.registers = static_cast<uint32_t>(form.n) / (form.d == Element::kF16 ? 4 : 2);
  o.a = s + o.registers;
  o.a_in_registers = in.operation == Operation::kWarpGroupMultiplyRegisters;
  o.b = o.a + (o.a_in_registers ? 4 : 1);
  o.rest = o.b + 1;
  o.rest_count = in.slot_count - static_cast<uint32_t>(o.rest - s);
  return o;
}

// Where element `i` of register `r` of a lane lies in D: the fragments of mma.sync, eight columns
// after eight. Registers of f32 hold one element, of f16 two.
struct At {
  uint32_t row, column;
};
At PlaceOf(uint32_t warp, uint32_t lane, uint32_t element) {
  return {16 * warp + lane / 4 + 8 * (element >> 1 & 1),
          8 * (element / 4) + 2 * (lane % 4) + (element & 1)};
}

// Copies D between registers and the dense matrix [64][n].
template <typename T, bool kToRegisters>
void MoveSums(Warp* warps, const Operands& o, uint32_t n, std::byte* dense) {
  constexpr uint32_t kPer = 4 / sizeof(T);
  for (uint32_t w = 0; w < kWarps; ++w) {
    for (uint32_t r = 0; r < o.registers; ++r) {
      Values<uint32_t> values = {};
      if (!kToRegisters) values = Read<uint32_t>(warps[w], o.d[r]);
      for (uint32_t l = 0; l < kLanes; ++l) {
        for (uint32_t p = 0; p < kPer; ++p) {
          const At at = PlaceOf(w, l, r * kPer + p);
          std::byte* const there = dense + (at.row * n + at.column) * sizeof(T);
          std::byte* const here = reinterpret_cast<std::byte*>(&values.v[l]) + p * sizeof(T);
          std::memcpy(kToRegisters ? here : there, kToRegisters ? there : here, sizeof(T));
        }
      }
      if (kToRegisters) Write(warps[w], o.d[r], values, kAllLanes);
    }
  }
}

template <bool kToRegisters>
void MoveSums(Warp* warps, const Operands& o, const TileForm& form, std::byte* dense) {
  const auto n = static_cast<uint32_t>(form.n);
  form.d == Element::kF16 ? MoveSums<uint16_t, kToRegisters>(warps, o, n, dense)
                          : MoveSums<uint32_t, kToRegisters>(warps, o, n, dense);
}

// Register r of a lane holds four bytes of the row of its fragment.
void GatherA(Warp* warps, const Slot* a, std::byte* dense) {
  for (uint32_t w = 0; w < kWarps; ++w) {
    for (uint32_t r = 0; r < 4; ++r) {
      const auto values = Read<uint32_t>(warps[w], a[r]);
      for (uint32_t l = 0; l < kLanes; ++l) {
        const uint32_t row = 16 * w + l / 4 + 8 * (r & 1), byte = 4 * (l % 4) + 16 * (r / 2);
        std::memcpy(dense + row * kRowBytes + byte, &values.v[l], 4);
      }
    }
  }
}

bool ReadShared(Warp& w, uint64_t descriptor, bool transposed, uint32_t rows, uint32_t width,
                bool by_k, std::byte* into) {
  const char* refused = nullptr;
  const auto tile = WgmmaTile(descriptor, refused);
  if (tile.has_value()) return ReadTile(w, 0, *tile, transposed, rows, width, by_k, into);
  w.block->Fail(refused, w.first_thread);
  return false;
}

void Multiply(Warp& first, const Instruction& in, const Slot* s, uint32_t) {
  MultiplyWarpGroup(first, in, s, MultiplyTile);
}

}  // namespace

// The other warps of the group follow the first.
void MultiplyWarpGroup(Warp& first, const Instruction& in, const Slot* s, TileProduct product) {
  Warp* const warps = &first;
  const TileForm form = WgmmaFormOf(in, first.block->target);
  const Operands o = OperandsOf(form, in, s);
  const auto n = static_cast<uint32_t>(form.n);
  const uint32_t width = static_cast<uint32_t>(BytesOf(form.a));
  const auto immediate = [&](uint32_t i) { return ReadLane(first, o.rest[i], 0); };
  const bool a_negative = o.rest_count >= 3 && static_cast<int32_t>(immediate(1)) == -1;
  const bool b_negative = o.rest_count >= 3 && static_cast<int32_t>(immediate(2)) == -1;
  const bool a_transposed = !o.a_in_registers && o.rest_count == 5 && immediate(3) != 0;
  const bool b_transposed = o.rest_count >= 4 && immediate(o.rest_count - 1) != 0;

  std::byte a[kRows * kRowBytes];
  std::vector<std::byte>& buffer = first.block->scratch;
  buffer.resize(n * kRowBytes + kRows * n * 4);
  std::byte* const b = buffer.data();
  std::byte* const d = b + n * kRowBytes;
  if (o.a_in_registers) {
    GatherA(warps, o.a, a);
  } else if (!ReadShared(first, ReadLane(first, o.a[0], 0), a_transposed, kRows, width, false, a)) {
    return;
  }
  if (!ReadShared(first, ReadLane(first, o.b[0], 0), b_transposed, n, width, true, b)) return;
  if (a_negative) NegateElements(form.a, a, sizeof a);
  if (b_negative) NegateElements(form.b, b, n * kRowBytes);
  const bool adds = (ReadMask(first, o.rest[0]) & 1) != 0;
  if (adds) MoveSums<false>(warps, o, form, d);
  CountProduct(form, first.block->counts);
  product(form, a, b, adds ? d : nullptr, d);
  MoveSums<true>(warps, o, form, d);
}

TileForm WgmmaFormOf(const Instruction& in, uint32_t target) {
  TileForm form{TensorUnit::kWgmma,
                kRows,
                static_cast<int>(in.value),
                0,
                *ElementOf(RowOf(in.type).text),
                *ElementOf(RowOf(in.source).text),
                Element::kF32};
  form.k = static_cast<int>(kRowBytes) / BytesOf(form.a);
  if (ModifierSums(in) == Sums::kF16) form.d = Element::kF16;
  if (ModifierSums(in) == Sums::kS32) form.d = Element::kS32;
  form.saturate = ModifierSatfinite(in) == Satfinite::kOn;
  form.sm = static_cast<int>(target);
  return form;
}

// Columns go by eights up to 256, those of integers by sixteens from 32 on.
Step WarpGroupStep(const Instruction& i) {
  if (!i.group_wide) return nullptr;
  const uint32_t n = i.value;
  const bool integers = ModifierSums(i) == Sums::kS32;
  const bool fits = n >= 8 && n <= 256 && n % (integers && n != 8 && n != 24 ? 16 : 8) == 0;
  return fits ? Multiply : nullptr;
}

}  // namespace hloscope::ptx
