// Numbers of all widths: what a rounding mode gives, exactly.
#include "core/ptx/machine/rounding.h"

#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

namespace hloscope::ptx {

double FromNarrow(uint32_t bits, NarrowFormat format) {
  const uint32_t mantissa_mask = (1u << format.mantissa) - 1;
  const uint32_t exponent_mask = (1u << format.exponent) - 1;
  const uint32_t mantissa = bits & mantissa_mask;
  const uint32_t exponent = bits >> format.mantissa & exponent_mask;
  const bool negative = (bits >> (format.mantissa + format.exponent) & 1) != 0;
  const int bias = (1 << (format.exponent - 1)) - 1;
  double value;
  if (exponent == exponent_mask && (format.has_infinity || mantissa == mantissa_mask)) {
    value = mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                          : std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<double>(mantissa), 1 - bias - format.mantissa);
  } else {
    value = std::ldexp(static_cast<double>(mantissa | (1u << format.mantissa)),
                       static_cast<int>(exponent) - bias - format.mantissa);
  }
  return negative ? -value : value;
}

uint32_t ToNarrow(double value, NarrowFormat format, Round round, bool saturate) {
  const uint32_t mantissa_mask = (1u << format.mantissa) - 1;
  const uint32_t exponent_mask = (1u << format.exponent) - 1;
  const int bias = (1 << (format.exponent - 1)) - 1;
  const uint32_t not_a_number = exponent_mask << format.mantissa | mantissa_mask;
  if (std::isnan(value)) return not_a_number;
  const uint32_t sign = std::signbit(value) ? 1u << (format.mantissa + format.exponent) : 0;
  const uint32_t largest = format.has_infinity
                               ? ((exponent_mask - 1) << format.mantissa | mantissa_mask)
                               : not_a_number - 1;
  const uint32_t beyond = sign | (saturate              ? largest
                                  : format.has_infinity ? exponent_mask << format.mantissa
                                                        : not_a_number);
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return beyond;
  if (magnitude == 0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  const double scaled = std::ldexp(magnitude, format.mantissa - exponent);
  const auto rounded =
      static_cast<uint64_t>(round == Round::kRz ? std::trunc(scaled) : std::nearbyint(scaled));
  // A carry out of the mantissa moves the exponent on by itself; subnormals have exponent field 0.
  const uint64_t bits = (static_cast<uint64_t>(exponent + bias - 1) << format.mantissa) + rounded;
  if (bits > largest) return round == Round::kRz ? sign | largest : beyond;
  return sign | static_cast<uint32_t>(bits);
}

float HalfToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t rest = bits & 0x7fff;
  if (rest >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  // The exponent is 112 too small as bits of an f32; the product is exact, also for subnormals.
  const float magnitude = std::bit_cast<float>(rest << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

float Bf16ToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

uint16_t FloatToHalf(float value) { return static_cast<uint16_t>(ToNarrow(value, kFormatF16)); }

uint16_t FloatToBf16(float value) {
  if (value != value) return kNan16;
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

double SumToOdd(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  const double part = sum - a;
  const double error = (a - (sum - part)) + (b - part);
  const auto bits = std::bit_cast<uint64_t>(sum);
  if (error == 0 || (bits & 1) != 0) return sum;
  const bool away = (error > 0) == (sum > 0);
  return std::bit_cast<double>(away ? bits + 1 : bits - 1);
}

float ToFloat(double value, Round round) {
  const float nearest = static_cast<float>(value);
  if (round == Round::kRn || round == Round::kNone || nearest != nearest) return nearest;
  const float kInfinity = std::numeric_limits<float>::infinity();
  const double back = nearest;
  switch (round) {
    case Round::kRz:
      return std::fabs(back) > std::fabs(value) ? std::nextafterf(nearest, 0.0f) : nearest;
    case Round::kRm:
      return back > value ? std::nextafterf(nearest, -kInfinity) : nearest;
    case Round::kRp:
      return back < value ? std::nextafterf(nearest, kInfinity) : nearest;
    default:
      return nearest;
  }
}

double ComputeToOdd(Arithmetic operation, double a, double b, double c) {
  switch (operation) {
    case Arithmetic::kAdd:
      return SumToOdd(a, b);
    case Arithmetic::kSub:
      return SumToOdd(a, -b);
    case Arithmetic::kMul:
      return a * b;
    case Arithmetic::kFma:
      return SumToOdd(a * b, c);
  }
  return 0;
}

float Compute32(Arithmetic operation, float a, float b, float c, Round round) {
  const double odd = ComputeToOdd(operation, a, b, c);
  float result = ToFloat(odd, round);
  // x - x is -0 when rounding down, unless both are +0.
  if (odd == 0 && round == Round::kRm && operation != Arithmetic::kMul) {
    const double first = operation == Arithmetic::kFma ? double{a} * double{b} : double{a};
    const double second = operation == Arithmetic::kFma   ? double{c}
                          : operation == Arithmetic::kSub ? -double{b}
                                                          : double{b};
    result = !std::signbit(first) && !std::signbit(second) ? 0.0f : -0.0f;
  }
  return result != result ? std::bit_cast<float>(kNan32) : result;
}

double Compute64(Arithmetic operation, double a, double b, double c, Round round) {
  const int saved = std::fegetround();
  const int mode = round == Round::kRz   ? FE_TOWARDZERO
                   : round == Round::kRm ? FE_DOWNWARD
                   : round == Round::kRp ? FE_UPWARD
                                         : FE_TONEAREST;
  if (mode != saved) std::fesetround(mode);
  // Volatile: the operation stays between the changes of the mode.
  volatile double x = a, y = b, z = c, result = 0;
  switch (operation) {
    case Arithmetic::kAdd:
      result = x + y;
      break;
    case Arithmetic::kSub:
      result = x - y;
      break;
    case Arithmetic::kMul:
      result = x * y;
      break;
    case Arithmetic::kFma:
      result = std::fma(x, y, z);
      break;
  }
  if (mode != saved) std::fesetround(saved);
  return result;
}

}  // namespace hloscope::ptx
