// Fragments and tiles as dense matrices of double.
#include "core/ptx/switches/products.h"

#include <bit>
#include <cstring>
#include <vector>

#include "core/ptx/machine/lanes.h"
#include "core/ptx/machine/matrix_form.h"
#include "core/ptx/machine/rounding.h"
#include "core/ptx/machine/steps.h"
#include "core/ptx/machine/tile_products.h"
#include "core/ptx/tensor/narrow.h"

namespace hloscope::ptx {
namespace {

struct Place2 {
  uint32_t row, column;
};

// Element `i` of a lane in fragments of A, B and C whose elements are `per` to a register of 32
// bits, as the PTX ISA gives them for m16n8.
Place2 InA(uint32_t lane, uint32_t i, uint32_t per) {
  const uint32_t quad = lane % 4, group = lane / 4;
  const uint32_t r = i / per;  // register: rows alternate, then columns
  return {group + (r % 2 != 0 ? 8 : 0), (r / 2 * 4 + quad) * per + i % per};
}
Place2 InB(uint32_t lane, uint32_t i, uint32_t per) {
  return {(i / per * 4 + lane % 4) * per + i % per, lane / 4};
}
Place2 InC(uint32_t lane, uint32_t i) {
  return {lane / 4 + (i >= 2 ? 8 : 0), lane % 4 * 2 + i % 2};
}

double NumberIn(Type type, uint32_t bits) {
  switch (type) {
    case Type::kF16:
      return FromNarrow(bits & 0xffff, kFormatF16);
    case Type::kBf16:
      return FromNarrow(bits & 0xffff, kFormatBf16);
    case Type::kE4m3:
      return FromNarrow(bits & 0xff, kFormatE4m3);
    case Type::kE5m2:
      return FromNarrow(bits & 0xff, kFormatE5m2);
    default:
      return std::bit_cast<float>(bits);
  }
}

bool IsFloatMma(Operation operation) {
  switch (operation) {
    case Operation::kMmaK4:
    case Operation::kMmaK8:
    case Operation::kMmaK16:
    case Operation::kMmaF16K16:
    case Operation::kMmaK32:
      return true;
    default:
      return false;
  }
}

template <bool kKeepTf32>
void Multiply(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  if (m != kAllLanes) return w.block->Fail("mma.sync without all 32 lanes", w.first_thread);
  const MmaForm form = MmaFormOf(in, w.block->target);
  const uint32_t per = 32 / (in.type == Type::kTf32 ? 32 : RowOf(in.type).bits);
  const bool half_sums = form.d == Element::kF16;
  const auto slots = [&](MmaOperand operand) {
    return static_cast<uint32_t>(RegistersOf(form, operand));
  };
  const uint32_t d = slots(MmaOperand::kD), a = slots(MmaOperand::kA), b = slots(MmaOperand::kB);
  const auto element = [&](uint32_t first, uint32_t i, uint32_t lane, uint32_t each, Type type) {
    const auto bits = static_cast<uint32_t>(ReadLane(w, s[first + i / each], lane));
    const uint32_t own = bits >> (i % each * (32 / each));
    if (type == Type::kTf32 && kKeepTf32) return NumberIn(type, own & 0xffffe000);
    return NumberIn(type, own);
  };
  double left[16][32] = {}, right[32][8] = {}, sum[16][8] = {};
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    for (uint32_t i = 0; i < a * per; ++i) {
      const Place2 at = InA(lane, i, per);
      left[at.row][at.column] = element(d, i, lane, per, in.type);
    }
    for (uint32_t i = 0; i < b * per; ++i) {
      const Place2 at = InB(lane, i, per);
      right[at.row][at.column] = element(d + a, i, lane, per, in.source);
    }
    for (uint32_t i = 0; i < 4; ++i) {
      const Place2 at = InC(lane, i);
      sum[at.row][at.column] =
          element(d + a + b, i, lane, half_sums ? 2 : 1, half_sums ? Type::kF16 : Type::kF32);
    }
  }
  for (auto& row : sum) {
    const auto& factors = left[&row - sum];
    for (uint32_t j = 0; j < 8; ++j) {
      for (int k = 0; k < form.k; ++k) row[j] += factors[k] * right[k][j];
    }
  }
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const auto at = [&](uint32_t i) { return sum[InC(lane, i).row][InC(lane, i).column]; };
    for (uint32_t i = 0; i < 4; i += half_sums ? 2 : 1) {
      if (half_sums) {
        WriteLane(w, s[i / 2], lane,
                  ToNarrow(at(i), kFormatF16) | uint64_t{ToNarrow(at(i + 1), kFormatF16)} << 16);
      } else {
        const auto value = static_cast<float>(at(i));
        WriteLane(w, s[i], lane, value != value ? kNan32 : std::bit_cast<uint32_t>(value));
      }
    }
  }
}

Type TypeOf(Element element) { return *ptx::TypeOf(NameOf(element)); }

uint32_t BitsAt(const std::byte* from, size_t index, size_t bytes) {
  uint32_t bits = 0;
  std::memcpy(&bits, from + index * bytes, bytes);
  return bits;
}

// In place of MultiplyTile, of floats.
template <bool kKeepTf32>
void MultiplyWide(const TileForm& form, const std::byte* a, const std::byte* b, const std::byte* c,
                  std::byte* d) {
  if (IsNarrow(form)) return MultiplyNarrowTileExactly(form, a, b, c, d);
  const auto m = static_cast<size_t>(form.m), n = static_cast<size_t>(form.n),
             k = static_cast<size_t>(form.k);
  const size_t bytes = 32 / k, sum_bytes = form.d == Element::kF16 ? 2 : 4;
  const auto numbers = [&](Element element, const std::byte* from, size_t count) {
    std::vector<double> out(count);
    for (size_t i = 0; i < count; ++i) {
      uint32_t bits = BitsAt(from, i, bytes);
      if (element == Element::kTf32 && kKeepTf32) bits &= 0xffffe000;
      out[i] = NumberIn(TypeOf(element), bits);
    }
    return out;
  };
  const auto left = numbers(form.a, a, m * k), right = numbers(form.b, b, k * n);
  std::vector<double> row(n);
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      row[j] = c == nullptr ? 0.0 : NumberIn(TypeOf(form.d), BitsAt(c, i * n + j, sum_bytes));
    }
    for (size_t l = 0; l < k; ++l) {
      for (size_t j = 0; j < n; ++j) row[j] += left[i * k + l] * right[l * n + j];
    }
    for (size_t j = 0; j < n; ++j) {
      const auto value = static_cast<float>(row[j]);
      const uint32_t bits = sum_bytes == 2   ? ToNarrow(row[j], kFormatF16)
                            : value != value ? kNan32
                                             : std::bit_cast<uint32_t>(value);
      std::memcpy(d + (i * n + j) * sum_bytes, &bits, sum_bytes);
    }
  }
}

template <bool kKeepTf32>
void MultiplyGroup(Warp& first, const Instruction& in, const Slot* s, uint32_t) {
  MultiplyWarpGroup(first, in, s, MultiplyWide<kKeepTf32>);
}
template <bool kKeepTf32>
void MultiplyMemory(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  MultiplyTensorMemory(w, in, s, m, MultiplyWide<kKeepTf32>);
}

template <bool kKeepTf32>
Step WideStep(const Instruction& in, Step usual) {
  if (IsFloatMma(in.operation)) return Multiply<kKeepTf32>;
  if (const Step narrow = ExactNarrowMmaStep(in)) return narrow;
  if (in.group_wide && ModifierSums(in) != Sums::kS32) return MultiplyGroup<kKeepTf32>;
  if (IsTensorMultiply(in) && ModifierKind(in) != Kind::kI8) return MultiplyMemory<kKeepTf32>;
  return usual;
}

bool IsTf32(const Instruction& in) {
  return IsTensorMultiply(in) ? ModifierKind(in) == Kind::kTf32 : in.type == Type::kTf32;
}

}  // namespace

Step WideProductStep(const Instruction& in, Step usual) {
  return IsTf32(in) ? WideStep<false>(in, usual) : usual;
}
Step ExactSumStep(const Instruction& in, Step usual) { return WideStep<true>(in, usual); }

}  // namespace hloscope::ptx
