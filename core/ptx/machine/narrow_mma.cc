// mma.sync of elements of four to eight bits of kind::f8f6f4, and with scale factors: sm_120.
// Source: PTX ISA, "Block scaling for mma.sync" and the fragments of m16n8k32 of 8 bits and
// m16n8k64 of 4 bits.
#include <cstring>
#include <vector>

#include "core/ptx/machine/instruction_descriptor.h"
#include "core/ptx/machine/lanes.h"
#include "core/ptx/machine/matrix_form.h"
#include "core/ptx/machine/steps.h"
#include "core/ptx/tensor/fragments.h"
#include "core/ptx/tensor/narrow.h"
#include "core/ptx/tensor/steps.h"

namespace hloscope::ptx {
namespace {

constexpr int kRows = 16, kColumns = 8, kRowBytes = 32;

Element ElementOf(NarrowFloat type) {
  constexpr Element kElements[] = {Element::kE4m3, Element::kE5m2, Element::kE2m3, Element::kE3m2,
                                   Element::kE2m1};
  return kElements[static_cast<size_t>(type) - 1];
}

TileForm FormOf(const Instruction& in, uint32_t target) {
  const bool is_pairs = HoldsPairs(in);
  TileForm form{TensorUnit::kMma, kRows,          kColumns,     is_pairs ? 64 : 32,
                Element::kE2m1,   Element::kE2m1, Element::kF32};
  form.sm = static_cast<int>(target);
  if (!is_pairs) {
    form.a = ElementOf(ModifierNarrowFloat(in));
    form.b = ElementOf(static_cast<NarrowFloat>(ModifierOtherNarrowFloat(in)));
  }
  return form;
}

// Elements of a fragment, a byte each: of four and six bits as tensor memory has them too.
std::vector<std::byte> ElementsOf(const Warp& w, const Slot* s, int registers, int rows,
                                  Element element, bool is_pairs) {
  uint32_t lanes[4][kLanes];
  for (int r = 0; r < registers; ++r) std::memcpy(lanes[r], SourceOf(w, s[r]), sizeof lanes[r]);
  std::vector<std::byte> bytes(static_cast<size_t>(rows * kRowBytes));
  GatherRows(lanes, rows, kRowBytes, bytes.data());
  if (!is_pairs) {
    TakeFromBytes(element, bytes);
    return bytes;
  }
  std::vector<std::byte> split;
  for (const std::byte pair : bytes) {
    split.push_back(pair & std::byte{15});
    split.push_back(pair >> 4);
  }
  return split;
}

// The factors of rows from the lanes that hold them: `lane_of(row)`.
template <typename F>
std::vector<uint8_t> FactorsOf(const Warp& w, Slot slot, int rows, int count, uint32_t first,
                               F lane_of) {
  std::vector<uint8_t> factors;
  for (int row = 0; row < rows; ++row) {
    const auto cell = static_cast<uint32_t>(ReadLane(w, slot, lane_of(static_cast<uint32_t>(row))));
    for (int i = 0; i < count; ++i)
      factors.push_back(static_cast<uint8_t>(cell >> 8 * (first + static_cast<uint32_t>(i))));
  }
  return factors;
}

template <bool kExactly>
void Multiply(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  if (m != kAllLanes) return w.block->Fail("mma.sync without all 32 lanes", w.first_thread);
  TileForm form = FormOf(in, w.block->target);
  const bool is_pairs = HoldsPairs(in);
  const auto a = ElementsOf(w, s + 4, 4, kRows, form.a, is_pairs);
  const auto columns = ElementsOf(w, s + 8, 2, kColumns, form.b, is_pairs);
  std::vector<std::byte> b(columns.size());
  const auto depth = static_cast<size_t>(form.k);
  for (size_t n = 0; n < kColumns; ++n)
    for (size_t k = 0; k < depth; ++k) b[k * kColumns + n] = columns[n * depth + k];
  uint32_t c[4][kLanes], d[4][kLanes];
  for (int r = 0; r < 4; ++r) std::memcpy(c[r], SourceOf(w, s[10 + r]), sizeof c[r]);
  std::byte sums[kRows * kColumns * 4];
  GatherSums(c, kRows, 4, sums);
  BlockScales scales;
  std::vector<uint8_t> of_a, of_b;
  if (ModifierScaledKind(in) != ScaledKind::kNone) {
    scales.is_ue4m3 = ModifierScaleType(in) == ScaleType::kUe4m3;
    scales.block = ScaleBlockOf(ModifierScaledKind(in), ModifierScaleVector(in), scales.is_ue4m3);
    if (scales.block == 0)
      return w.block->Fail("mma.sync with scale factors of this format for so many elements",
                           w.first_thread);
    const int count = form.k / scales.block;
    const auto number = [&](uint32_t slot) {
      return static_cast<uint32_t>(ReadLane(w, s[slot], 0));
    };
    const uint32_t a_byte = number(15), a_thread = number(16), b_byte = number(18),
                   b_thread = number(19);
    const auto fits = [&](uint32_t byte) {
      return byte < 4 && byte % static_cast<uint32_t>(count) == 0;
    };
    if (!fits(a_byte) || !fits(b_byte) || a_thread > 1 || b_thread > 3)
      return w.block->Fail("a byte-id or thread-id of scale factors beyond those of its form",
                           w.first_thread);
    // Of each four lanes two hold those of rows i and i + 8; one those of column i.
    of_a = FactorsOf(w, s[14], kRows, count, a_byte,
                     [&](uint32_t row) { return row % 8 * 4 + 2 * a_thread + row / 8; });
    of_b = FactorsOf(w, s[17], kColumns, count, b_byte,
                     [&](uint32_t column) { return column * 4 + b_thread; });
    scales.a = of_a.data();
    scales.b = of_b.data();
    form.scales = &scales;
  }
  (kExactly ? MultiplyNarrowTileExactly : MultiplyNarrowTile)(form, a.data(), b.data(), sums, sums);
  ScatterSums(sums, kRows, 4, d);
  for (int r = 0; r < 4; ++r) std::memcpy(TargetOf(w, s[r]), d[r], sizeof d[r]);
}

}  // namespace

Step NarrowMmaStep(const Instruction& in) {
  return in.operation == Operation::kMmaNarrow ? Multiply<false> : nullptr;
}
Step ExactNarrowMmaStep(const Instruction& in) {
  return in.operation == Operation::kMmaNarrow ? Multiply<true> : nullptr;
}

Status CheckNarrowMma(uint32_t target) {
  if (target >= 120 && target <= 129) return {};
  return UnsupportedError("mma.sync of kind::f8f6f4 and with scale factors, which sm_120 has");
}

}  // namespace hloscope::ptx
