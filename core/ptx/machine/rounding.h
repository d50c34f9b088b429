// Numbers of all widths: what a rounding mode gives, exactly.
#pragma once

#include <cstdint>

#include "core/ptx/ir/program.h"

namespace hloscope::ptx {

inline constexpr uint32_t kNan32 = 0x7fffffff;  // what every f32 operation gives for NaN
inline constexpr uint16_t kNan16 = 0x7fff;

// Formats narrower than f32 by their bits; e4m3 has no infinity and reaches 448.
struct NarrowFormat {
  int mantissa;
  int exponent;
  bool has_infinity;
};
inline constexpr NarrowFormat kFormatF16{10, 5, true};
inline constexpr NarrowFormat kFormatBf16{7, 8, true};
inline constexpr NarrowFormat kFormatE4m3{3, 4, false};
inline constexpr NarrowFormat kFormatE5m2{2, 5, true};

// The value of the bits of a narrow format.
double FromNarrow(uint32_t bits, NarrowFormat format);
// The bits that are nearest to `value` (ties to even) or, for kRz, next towards zero. Beyond the
// largest: infinity (NaN without one), or the largest with `saturate`.
uint32_t ToNarrow(double value, NarrowFormat format, Round round = Round::kRn,
                  bool saturate = false);
// f16 and bf16 in a few operations.
float HalfToFloat(uint16_t bits);
float Bf16ToFloat(uint16_t bits);
uint16_t FloatToHalf(float value);
uint16_t FloatToBf16(float value);

// a + b rounded to odd: its last bit is set where it is not exact, so that rounding it again is
// right.
double SumToOdd(double a, double b);
// f32 from a double that is exact or rounded to odd.
float ToFloat(double value, Round round);

enum class Arithmetic : uint8_t { kAdd, kSub, kMul, kFma };
// One operation on f32 in any rounding mode; NaN is kNan32.
float Compute32(Arithmetic operation, float a, float b, float c, Round round);
double Compute64(Arithmetic operation, double a, double b, double c, Round round);
// The same on numbers of a narrow format (held in float), rounded to nearest even once: exact, or
// odd, in a double.
double ComputeToOdd(Arithmetic operation, double a, double b, double c);

}  // namespace hloscope::ptx
