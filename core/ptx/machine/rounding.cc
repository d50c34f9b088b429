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
  const bool is_special = format.has_infinity || (format.has_nan && mantissa == mantissa_mask);
  if (exponent == exponent_mask && is_special) {
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
                           : format.has_nan ? not_a_number - 1
                                            : not_a_number;
  const uint32_t beyond = sign | (saturate              ? largest
                                  : format.has_infinity ? exponent_mask << format.mantissa
                                                        : not_a_number);
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return beyond;
  if (magnitude == 0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  const double scaled = std::ldexp(magnitude, format.mantissa - exponent);
  const bool away = round == (sign == 0 ? Round::kRp : Round::kRm);
  const bool down = round == Round::kRz || round == (sign == 0 ? Round::kRm : Round::kRp);
  const auto rounded = static_cast<uint64_t>(away   ? std::ceil(scaled)
                                             : down ? std::trunc(scaled)
                                                    : std::nearbyint(scaled));
  // A carry out of the mantissa moves the exponent on by itself; subnormals have exponent field 0.
  const uint64_t bits = (static_cast<uint64_t>(exponent + bias - 1) << format.mantissa) + rounded;
  if (bits > largest) return down ? sign | largest : beyond;
  return sign | static_cast<uint32_t>(bits);
}

float ToFloat(double value, Round round) {
  switch (round) {
    case Round::kRz:
      return ToFloat<Round::kRz>(value);
    case Round::kRm:
      return ToFloat<Round::kRm>(value);
    case Round::kRp:
      return ToFloat<Round::kRp>(value);
    default:
      return ToFloat<Round::kRn>(value);
  }
}

double ComputeToOdd(Arithmetic operation, double a, double b, double c) {
  switch (operation) {
    case Arithmetic::kAdd:
      return ComputeToOdd<Arithmetic::kAdd>(a, b, c);
    case Arithmetic::kSub:
      return ComputeToOdd<Arithmetic::kSub>(a, b, c);
    case Arithmetic::kMul:
      return ComputeToOdd<Arithmetic::kMul>(a, b, c);
    case Arithmetic::kFma:
      return ComputeToOdd<Arithmetic::kFma>(a, b, c);
  }
  return 0;
}

namespace {

template <Arithmetic kArithmetic>
float Compute32As(float a, float b, float c, Round round) {
  switch (round) {
    case Round::kRz:
      return Compute32<kArithmetic, Round::kRz>(a, b, c);
    case Round::kRm:
      return Compute32<kArithmetic, Round::kRm>(a, b, c);
    case Round::kRp:
      return Compute32<kArithmetic, Round::kRp>(a, b, c);
    default:
      return Compute32<kArithmetic, Round::kRn>(a, b, c);
  }
}

}  // namespace

float Compute32(Arithmetic operation, float a, float b, float c, Round round) {
  switch (operation) {
    case Arithmetic::kAdd:
      return Compute32As<Arithmetic::kAdd>(a, b, c, round);
    case Arithmetic::kSub:
      return Compute32As<Arithmetic::kSub>(a, b, c, round);
    case Arithmetic::kMul:
      return Compute32As<Arithmetic::kMul>(a, b, c, round);
    case Arithmetic::kFma:
      return Compute32As<Arithmetic::kFma>(a, b, c, round);
  }
  return 0;
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
