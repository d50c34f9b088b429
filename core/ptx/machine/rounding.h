// Numbers of all widths: what a rounding mode gives, exactly.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/ptx/ir/program.h"

namespace hloscope::ptx {

inline constexpr uint32_t kNan32 = 0x7fffffff;  // what every f32 operation gives for NaN
inline constexpr uint16_t kNan16 = 0x7fff;

// Formats narrower than f32 by their bits. Those without infinity have a NaN of all ones (e4m3
// reaches 448) or none.
struct NarrowFormat {
  int mantissa;
  int exponent;
  bool has_infinity;
  bool has_nan = true;
};
inline constexpr NarrowFormat kFormatF16{10, 5, true};
inline constexpr NarrowFormat kFormatBf16{7, 8, true};
inline constexpr NarrowFormat kFormatE4m3{3, 4, false};
inline constexpr NarrowFormat kFormatE5m2{2, 5, true};
inline constexpr NarrowFormat kFormatE2m3{3, 2, false, false};
inline constexpr NarrowFormat kFormatE3m2{2, 3, false, false};
inline constexpr NarrowFormat kFormatE2m1{1, 2, false, false};

// The value of the bits of a narrow format.
double FromNarrow(uint32_t bits, NarrowFormat format);
// The bits that are nearest to `value` (ties to even), or next to it to the side of another mode.
// Beyond the largest: infinity (NaN without one), or the largest with `saturate`. A NaN is the
// largest where the format has none.
uint32_t ToNarrow(double value, NarrowFormat format, Round round = Round::kRn,
                  bool saturate = false);

// f16 and bf16 in a few operations. These and what follows inline has no branches: loops over lanes
// become vector code, and none of it may stay a call.
[[gnu::always_inline]] inline float HalfToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t rest = bits & 0x7fff;
  // The exponent is 112 too small as bits of an f32; the product is exact, also for subnormals.
  const float magnitude = std::bit_cast<float>(rest << 13) * 0x1p112f;
  const uint32_t special = 0x7f800000 | (rest & 0x3ff) << 13;
  return std::bit_cast<float>(sign |
                              (rest >= 0x7c00 ? special : std::bit_cast<uint32_t>(magnitude)));
}

[[gnu::always_inline]] inline float Bf16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

// To nearest, ties to even; NaN is kNan16.
[[gnu::always_inline]] inline uint16_t FloatToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  // Subnormals: 0.5 has their last place. Others: the bias changes, a carry moves the exponent on.
  const uint32_t subnormal =
      std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000;
  const uint32_t normal = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
  const uint32_t finite = magnitude < 113u << 23 ? subnormal : normal;
  const uint32_t number = sign | (magnitude >= 143u << 23 ? 0x7c00 : finite);
  return static_cast<uint16_t>(magnitude > 0x7f800000 ? kNan16 : number);
}

[[gnu::always_inline]] inline uint16_t FloatToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? kNan16 : rounded);
}

// a + b rounded to odd: its last bit is set where it is not exact, so that rounding it again is
// right.
[[gnu::always_inline]] inline double SumToOdd(double a, double b) {
  const double sum = a + b, part = sum - a;
  const double error = (a - (sum - part)) + (b - part);
  // Away from zero or towards it, where the last bit is even.
  const auto bits = std::bit_cast<uint64_t>(sum);
  const uint64_t even = (bits & 1) - 1;
  uint64_t step = 1 - (((bits ^ std::bit_cast<uint64_t>(error)) >> 63) << 1);
  step = error == 0 ? 0 : step & even;
  step = std::fabs(sum) <= std::numeric_limits<double>::max() ? step : 0;
  return std::bit_cast<double>(bits + step);
}

// f32 from a double that is exact or rounded to odd.
template <Round kRound>
[[gnu::always_inline]] inline float ToFloat(double value) {
  const float nearest = static_cast<float>(value);
  const double back = nearest;
  const uint32_t bits = std::bit_cast<uint32_t>(nearest);
  const bool negative = bits >> 31 != 0;
  if constexpr (kRound == Round::kRz) {
    return std::bit_cast<float>(std::fabs(back) > std::fabs(value) ? bits - 1 : bits);
  } else if constexpr (kRound == Round::kRm) {
    const uint32_t below = negative ? bits + 1 : bits - 1;
    return std::bit_cast<float>(back > value ? below : bits);
  } else if constexpr (kRound == Round::kRp) {
    const uint32_t above = negative ? bits - 1 : bits + 1;
    return std::bit_cast<float>(back < value ? above : bits);
  } else {
    return nearest;
  }
}
float ToFloat(double value, Round round);

// f32 rounded to odd; NaN stays a NaN.
[[gnu::always_inline]] inline float ToOddFloat(double value) {
  const float nearest = static_cast<float>(value);
  const double back = nearest;
  const uint32_t bits = std::bit_cast<uint32_t>(nearest);
  const uint32_t even = (bits & 1) - 1;
  const uint32_t step = std::fabs(back) > std::fabs(value) ? ~uint32_t{0} : 1;
  return std::bit_cast<float>(bits + (back == value ? 0 : step & even));
}

enum class Arithmetic : uint8_t { kAdd, kSub, kMul, kFma };

// The same on numbers of a narrow format (held in float) or of f32: exact, or rounded to odd.
template <Arithmetic kArithmetic>
[[gnu::always_inline]] inline double ComputeToOdd(double a, double b, double c) {
  if constexpr (kArithmetic == Arithmetic::kAdd) return SumToOdd(a, b);
  if constexpr (kArithmetic == Arithmetic::kSub) return SumToOdd(a, -b);
  if constexpr (kArithmetic == Arithmetic::kMul) return a * b;
  return SumToOdd(a * b, c);
}
double ComputeToOdd(Arithmetic operation, double a, double b, double c);

// One operation on f32 in any rounding mode; NaN is kNan32.
template <Arithmetic kArithmetic, Round kRound>
[[gnu::always_inline]] inline float Compute32(float a, float b, float c) {
  const double odd = ComputeToOdd<kArithmetic>(a, b, c);
  float result = ToFloat<kRound>(odd);
  if constexpr (kRound == Round::kRm && kArithmetic != Arithmetic::kMul) {
    // x - x is -0 when rounding down, unless both are +0.
    const double first = kArithmetic == Arithmetic::kFma ? double{a} * double{b} : double{a};
    const double second = kArithmetic == Arithmetic::kFma   ? double{c}
                          : kArithmetic == Arithmetic::kSub ? -double{b}
                                                            : double{b};
    const uint64_t signs = (std::bit_cast<uint64_t>(first) | std::bit_cast<uint64_t>(second)) >> 63;
    const float zero = std::bit_cast<float>(static_cast<uint32_t>(signs << 31));
    result = odd == 0 ? zero : result;
  }
  return result != result ? std::bit_cast<float>(kNan32) : result;
}
float Compute32(Arithmetic operation, float a, float b, float c, Round round);
double Compute64(Arithmetic operation, double a, double b, double c, Round round);

}  // namespace hloscope::ptx
