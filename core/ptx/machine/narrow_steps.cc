// Floats of 16 bits and fewer as few kernels compute with them: subnormals flushed to zero, powers
// of two in eight bits, stochastic rounding.
#include <bit>
#include <cmath>

#include "core/ptx/machine/each_lane.h"
#include "core/ptx/machine/float_lanes.h"
#include "core/ptx/machine/steps.h"

namespace hloscope::ptx {
namespace {

// f16 with .ftz: operands and the result.
float FlushedHalf(uint64_t bits) {
  const float value = HalfToFloat(static_cast<uint16_t>(bits));
  return std::fabs(value) < 0x1p-14f ? std::copysign(0.0f, value) : value;
}

uint16_t ArithmeticOfHalf(const Instruction& in, uint64_t a, uint64_t b, uint64_t c) {
  const Arithmetic arithmetic = in.operation == Operation::kAdd   ? Arithmetic::kAdd
                                : in.operation == Operation::kSub ? Arithmetic::kSub
                                : in.operation == Operation::kMul ? Arithmetic::kMul
                                                                  : Arithmetic::kFma;
  double r = ComputeToOdd(arithmetic, FlushedHalf(a), FlushedHalf(b), FlushedHalf(c));
  if (ModifierSat(in) == Sat::kOn) r = Clamped(r);
  if (ModifierRelu(in) == Relu::kOn && r <= 0) r = 0;
  const uint16_t rounded = F16::Store(r);
  return FloatToHalf(FlushedHalf(rounded));
}

// neg and abs.
uint16_t SignOfHalf(const Instruction& in, uint64_t a) {
  const uint64_t bits = in.operation == Operation::kNeg ? a ^ 0x8000 : a & 0x7fff;
  return static_cast<uint16_t>((bits & 0x7c00) == 0 ? bits & 0x8000 : bits);
}

void ComputeFlushed(const Instruction& in, LaneValues& v) {
  const bool is_sign = in.operation == Operation::kNeg || in.operation == Operation::kAbs;
  uint64_t result = 0;
  for (uint32_t at = 0; at < RowOf(in.type).bits; at += 16) {
    const uint16_t part = is_sign ? SignOfHalf(in, v[1] >> at)
                                  : ArithmeticOfHalf(in, v[1] >> at, v[2] >> at, v[3] >> at);
    result |= uint64_t{part} << at;
  }
  v[0] = result;
}

// ue8m0 of an f32: its exponent, rounded up where .rp meets a fraction. Signs are dropped; what is
// not larger than 2^-127 is that.
uint32_t ExponentOf(const Instruction& in, uint32_t bits) {
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return 0xff;
  uint32_t exponent = magnitude >> 23;
  const uint32_t fraction = magnitude & 0x7fffff;
  const bool is_more = exponent == 0 ? magnitude > 0x400000 : fraction != 0;
  if (ModifierRound(in) == Round::kRp && is_more) ++exponent;
  return ModifierSatfinite(in) == Satfinite::kOn && exponent == 0xff ? 0xfe : exponent;
}

void ToExponents(const Instruction& in, LaneValues& v) {
  const bool is_single = in.source == Type::kF32;
  const auto high = static_cast<uint32_t>(is_single ? v[1] : v[1] & 0xffff0000);
  const auto low = static_cast<uint32_t>(is_single ? v[2] : v[1] << 16);
  v[0] = ExponentOf(in, high) << 8 | ExponentOf(in, low);
}

// bf16 of a power of two: 2^-127 is subnormal there.
void FromExponents(const Instruction&, LaneValues& v) {
  const auto part = [](uint64_t exponent) -> uint64_t {
    return exponent == 0 ? 0x40 : exponent == 0xff ? kNan16 : exponent << 7;
  };
  v[0] = part(v[1] >> 8 & 0xff) << 16 | part(v[1] & 0xff);
}

// Two numbers of eight bits and fewer as bf16, exactly.
void ToBf16Pair(const Instruction& in, LaneValues& v) {
  const NarrowFormat format = in.source == Type::kE4m3x2   ? kFormatE4m3
                              : in.source == Type::kE5m2x2 ? kFormatE5m2
                              : in.source == Type::kE2m3x2 ? kFormatE2m3
                              : in.source == Type::kE3m2x2 ? kFormatE3m2
                                                           : kFormatE2m1;
  const uint32_t place = in.source == Type::kE2m1x2 ? 4 : 8;
  const uint32_t used = 1 + static_cast<uint32_t>(format.mantissa + format.exponent);
  const auto part = [&](uint32_t which) -> uint64_t {
    const auto bits = static_cast<uint32_t>(v[1] >> (which * place)) & ((1u << used) - 1);
    const double value = FromNarrow(bits, format);
    if (std::isnan(value)) return kNan16;
    return ModifierRelu(in) == Relu::kOn && value <= 0 ? 0 : ToNarrow(value, kFormatBf16);
  };
  v[0] = part(1) << 16 | part(0);
}

struct StochasticRow {
  Type type;
  NarrowFormat format;
  uint32_t random_bits;  // of each number
  uint32_t place;        // bits that a number has in the result
};
constexpr StochasticRow kStochastic[] = {
    {Type::kF16x2, kFormatF16, 13, 16},  {Type::kBf16x2, kFormatBf16, 16, 16},
    {Type::kE4m3x4, kFormatE4m3, 16, 8}, {Type::kE5m2x4, kFormatE5m2, 16, 8},
    {Type::kE2m3x4, kFormatE2m3, 16, 8}, {Type::kE3m2x4, kFormatE3m2, 16, 8},
    {Type::kE2m1x4, kFormatE2m1, 8, 4},
};

const StochasticRow* RowOfStochastic(Type type) {
  for (const StochasticRow& row : kStochastic) {
    if (row.type == type) return &row;
  }
  return nullptr;
}

// The random bits are added to those that are cut off, from the highest of them on; a carry rounds
// away from zero.
uint32_t RoundedBy(const Instruction& in, const StochasticRow& row, float value, uint32_t random) {
  if (ModifierRelu(in) == Relu::kOn && value <= 0) value = 0;
  const bool saturates = ModifierSatfinite(in) == Satfinite::kOn;
  if (!std::isfinite(value) || value == 0)
    return ToNarrow(value, row.format, Round::kRn, saturates);
  const double magnitude = std::fabs(double{value});
  const int least = 2 - (1 << (row.format.exponent - 1));  // exponent of subnormals
  const int exponent = std::max(std::ilogb(magnitude), least);
  const double scaled = std::ldexp(magnitude, row.format.mantissa - exponent);
  const double kept = std::floor(scaled);
  const bool carries = scaled - kept + std::ldexp(random, -static_cast<int>(row.random_bits)) >= 1;
  const double rounded = std::ldexp(kept + (carries ? 1 : 0), exponent - row.format.mantissa);
  return ToNarrow(std::copysign(rounded, value), row.format, Round::kRn, saturates);
}

// Two numbers have a half of rbits each. Of four the first two share the upper half, the others the
// lower one; with eight bits each, the first of two has the upper half's.
uint32_t RandomOf(const StochasticRow& row, uint32_t which, uint32_t bits) {
  const bool is_pair = row.place == 16;
  if (row.random_bits == 8) return bits >> (16 * (1 - which % 2) + (which < 2 ? 8 : 0)) & 0xff;
  const bool is_upper = is_pair ? which == 0 : which < 2;
  return bits >> (is_upper ? 16 : 0) & ((1u << row.random_bits) - 1);
}

void RoundStochastically(const Instruction& in, LaneValues& v) {
  const StochasticRow& row = *RowOfStochastic(in.type);
  const uint32_t count = RowOf(in.type).bits / row.place;
  uint64_t result = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(v[1 + i]));
    const uint32_t random = RandomOf(row, i, static_cast<uint32_t>(v[1 + count]));
    result = result << row.place | RoundedBy(in, row, value, random);
  }
  v[0] = result;
}

}  // namespace

Step NarrowStep(const Instruction& i) {
  switch (i.operation) {
    case Operation::kAdd:
    case Operation::kSub:
    case Operation::kMul:
    case Operation::kFma: {
      const bool to_nearest = ModifierRound(i) == Round::kRn || ModifierRound(i) == Round::kNone;
      const bool is_half = i.type == Type::kF16 || i.type == Type::kF16x2;
      return is_half && to_nearest && ModifierFtz(i) == Ftz::kOn ? EachLane<ComputeFlushed>
                                                                 : nullptr;
    }
    case Operation::kNeg:
    case Operation::kAbs:
      return i.type == Type::kF16 || i.type == Type::kF16x2 ? EachLane<ComputeFlushed> : nullptr;
    case Operation::kCvtExponents:
      return ModifierRound(i) == Round::kRz || ModifierRound(i) == Round::kRp
                 ? EachLane<ToExponents>
                 : nullptr;
    case Operation::kCvtFromExponents:
      return ModifierRound(i) == Round::kRn ? EachLane<FromExponents> : nullptr;
    case Operation::kCvtToBf16Pair:
      return EachLane<ToBf16Pair>;
    case Operation::kCvtStochastic:
      return RowOfStochastic(i.type) != nullptr ? EachLane<RoundStochastically> : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace hloscope::ptx
