// Fragments as dense matrices of double.
#include "core/ptx/switches/products.h"

#include <bit>

#include "core/ptx/machine/lanes.h"
#include "core/ptx/machine/matrix_form.h"
#include "core/ptx/machine/rounding.h"

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

bool IsFloatMma(const Instruction& in) {
  switch (in.operation) {
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

}  // namespace

Step WideProductStep(const Instruction& in, Step usual) {
  return IsFloatMma(in) ? Multiply<false> : usual;
}
Step ExactSumStep(const Instruction& in, Step usual) {
  return IsFloatMma(in) ? Multiply<true> : usual;
}

}  // namespace hloscope::ptx
