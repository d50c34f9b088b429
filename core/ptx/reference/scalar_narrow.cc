// Conversions to and from floats of four and six bits, powers of two in eight bits, and stochastic
// rounding, one lane at a time: small formats by the list of their values, random bits by integers.
#include <bit>

#include "core/ptx/reference/scalar_parts.h"

namespace hloscope::ptx::reference {
namespace {

struct SmallFormat {
  uint32_t exponent_bits, fraction, place;
};

SmallFormat FormatOf(Type type) {
  switch (type) {
    case Type::kE2m3x2:
    case Type::kE2m3x4:
      return {2, 3, 8};
    case Type::kE3m2x2:
    case Type::kE3m2x4:
      return {3, 2, 8};
    case Type::kE2m1x2:
    case Type::kE2m1x4:
      return {2, 1, 4};
    case Type::kE4m3x2:
    case Type::kE4m3x4:
      return {4, 3, 8};
    case Type::kE5m2x2:
    case Type::kE5m2x4:
      return {5, 2, 8};
    case Type::kBf16:
    case Type::kBf16x2:
      return {8, 7, 16};
    default:
      return {5, 10, 16};
  }
}

bool IsFinite(Type type) {
  const SmallFormat format = FormatOf(type);
  return format.exponent_bits < 4;
}

// What a code without its sign stands for, where all are numbers.
double ValueOf(SmallFormat format, uint32_t code) {
  const uint32_t exponent = code >> format.fraction, fraction = code % (1u << format.fraction);
  const double unit = std::exp2(-static_cast<double>(format.fraction));
  const double bias = (1 << (format.exponent_bits - 1)) - 1;
  return exponent == 0 ? fraction * unit * std::exp2(1 - bias)
                       : (1 + fraction * unit) * std::exp2(exponent - bias);
}

uint64_t NearestCode(SmallFormat format, double value) {
  const uint32_t count = 1u << (format.exponent_bits + format.fraction);
  if (std::isnan(value)) return count - 1;
  const double size = std::min(std::fabs(value), ValueOf(format, count - 1));
  uint32_t best = 0;
  for (uint32_t code = 1; code < count; ++code) {
    const double near = std::fabs(size - ValueOf(format, best));
    const double here = std::fabs(size - ValueOf(format, code));
    if (here < near || (here == near && code % 2 == 0)) best = code;
  }
  return best | (std::signbit(value) ? count : 0);
}

uint64_t Code(const Instruction& in, Type type, double value) {
  if (ModifierRelu(in) == Relu::kOn && std::signbit(value) && !std::isnan(value)) value = 0;
  return NearestCode(FormatOf(type), value);
}

double NumberOfCode(Type type, uint64_t bits) {
  const SmallFormat format = FormatOf(type);
  const uint32_t sign = 1u << (format.exponent_bits + format.fraction);
  const double value = ValueOf(format, static_cast<uint32_t>(bits % sign));
  return (bits & sign) != 0 ? -value : value;
}

// The exponent of the power of two next to |value| as the mode says.
uint64_t Power(const Instruction& in, double value) {
  if (std::isnan(value)) return 0xff;
  const bool saturates = ModifierSatfinite(in) == Satfinite::kOn;
  for (int exponent = -127; exponent < 128; ++exponent) {
    const bool reached = ModifierRound(in) == Round::kRp
                             ? std::exp2(exponent) >= std::fabs(value)
                             : std::exp2(exponent + 1) > std::fabs(value);
    if (reached) return static_cast<uint64_t>(exponent + 127);
  }
  return saturates ? 0xfe : 0xff;
}

// The significand cut off where the format ends, `random` added to what is cut off.
uint64_t ByChance(const Instruction& in, uint32_t single, uint32_t random, uint32_t random_bits) {
  const SmallFormat format = FormatOf(in.type);
  const uint32_t width = format.exponent_bits + format.fraction;
  const bool saturates = ModifierSatfinite(in) == Satfinite::kOn;
  const uint64_t ones = (uint64_t{1} << width) - 1;
  const bool has_infinity = format.exponent_bits > 4;
  const uint64_t infinity = has_infinity ? ones - ones % (1u << format.fraction) : ones;
  const uint64_t largest = IsFinite(in.type) ? ones : infinity - 1;
  uint32_t magnitude = single & 0x7fffffff;
  uint64_t sign = uint64_t{single >> 31} << width;
  if (magnitude > 0x7f800000) return ones;
  if (ModifierRelu(in) == Relu::kOn && sign != 0) sign = magnitude = 0;
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  int exponent = static_cast<int>(magnitude >> 23) - 127 + bias;
  uint64_t significand = magnitude & 0x7fffff;
  if (magnitude >> 23 == 0) {
    exponent += 1;
  } else {
    significand |= 0x800000;
  }
  uint32_t drop = 23 - format.fraction;
  if (exponent < 1) {
    drop += static_cast<uint32_t>(1 - exponent);
    exponent = 1;
  }
  uint64_t code = 0;
  if (drop < 60) {
    const uint64_t added = significand + (uint64_t{random} << (drop - random_bits));
    code = (static_cast<uint64_t>(exponent - 1) << format.fraction) + (added >> drop);
  }
  if (magnitude == 0x7f800000 || code > largest) code = saturates ? largest : infinity;
  return sign | code;
}

}  // namespace

bool SmallConversion(const Instruction& in, std::span<uint64_t> v) {
  const SmallFormat to = FormatOf(in.type), from = FormatOf(in.source);
  switch (in.operation) {
    case Operation::kCvtPack:
      if (!IsFinite(in.type)) return false;
      v[0] = Code(in, in.type, NumberOf(Type::kF32, v[1])) << to.place |
             Code(in, in.type, NumberOf(Type::kF32, v[2]));
      return true;
    case Operation::kCvtToF8:
      if (!IsFinite(in.type)) return false;
      v[0] = Code(in, in.type, NumberOf(Type::kF16, v[1] >> 16)) << to.place |
             Code(in, in.type, NumberOf(Type::kF16, v[1] & 0xffff));
      return true;
    case Operation::kCvtFromF8: {
      if (!IsFinite(in.source)) return false;
      const auto half = [&](uint64_t bits) {
        const double value = NumberOfCode(in.source, bits & ((1u << from.place) - 1));
        if (ModifierRelu(in) == Relu::kOn && std::signbit(value)) return uint64_t{0};
        return BitsOf(Type::kF16, value, Round::kRn);
      };
      v[0] = half(v[1] >> from.place) << 16 | half(v[1]);
      return true;
    }
    case Operation::kCvtExponents: {
      const bool single = in.source == Type::kF32;
      const double a = single ? NumberOf(Type::kF32, v[1]) : NumberOf(Type::kBf16, v[1] >> 16);
      const double b = single ? NumberOf(Type::kF32, v[2]) : NumberOf(Type::kBf16, v[1] & 0xffff);
      v[0] = Power(in, a) << 8 | Power(in, b);
      return true;
    }
    case Operation::kCvtFromExponents: {
      const auto power = [](uint64_t bits) {
        const double value = bits == 0xff ? NAN : std::exp2(static_cast<double>(bits) - 127);
        return BitsOf(Type::kBf16, value, Round::kRn);
      };
      v[0] = power(v[1] >> 8 & 0xff) << 16 | power(v[1] & 0xff);
      return true;
    }
    default:
      break;
  }
  // Stochastic: what of the last operand belongs to which number.
  const uint32_t place = to.place, count = RowOf(in.type).bits / place;
  const auto bits = static_cast<uint32_t>(v[1 + count]);
  uint32_t random[4] = {bits >> 16, bits & 0xffff, 0, 0};
  uint32_t random_bits = 16;
  if (count == 4) {
    random[2] = random[3] = bits & 0xffff;
    random[1] = random[0];
  }
  if (place == 4) {
    random_bits = 8;
    random[0] = bits >> 24;
    random[1] = bits >> 8 & 0xff;
    random[2] = bits >> 16 & 0xff;
    random[3] = bits & 0xff;
  }
  if (in.type == Type::kF16x2) {
    random_bits = 13;
    for (uint32_t& r : random) r &= 0x1fff;
  }
  uint64_t result = 0;
  for (uint32_t i = 0; i < count; ++i) {
    result =
        result << place | ByChance(in, static_cast<uint32_t>(v[1 + i]), random[i], random_bits);
  }
  v[0] = result;
  return true;
}

}  // namespace hloscope::ptx::reference
