// Steps for each generation of vector units, and one sum at a time for any exponents.
#include "core/ptx/tensor/steps.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#ifdef HLOSCOPE_HAS_UNITS
#include <immintrin.h>
#endif

namespace hloscope::ptx {
namespace {

namespace any_unit {
#define HLOSCOPE_STEP_TARGET
#include "core/ptx/tensor/vector_steps.h"
#undef HLOSCOPE_STEP_TARGET
}  // namespace any_unit

#ifdef __x86_64__
namespace avx2_unit {
#define HLOSCOPE_STEP_TARGET __attribute__((target("avx2")))
#include "core/ptx/tensor/vector_steps.h"
#undef HLOSCOPE_STEP_TARGET
}  // namespace avx2_unit
#endif

#ifdef HLOSCOPE_HAS_UNITS
namespace avx512_unit {
#define HLOSCOPE_STEP_TARGET \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,prefer-vector-width=512")))
#include "core/ptx/tensor/fragment_steps.h"
#include "core/ptx/tensor/vector_steps.h"
#undef HLOSCOPE_STEP_TARGET
constexpr VectorSteps kAllSteps = {Decode, AddFloats, AddIntegers, MultiplyFragments};
}  // namespace avx512_unit
#endif

}  // namespace

int ExponentOfSum(float sum, bool is_f16) {
  return sum == 0 ? kExponentOfZeroTerm : std::max(std::ilogb(sum), is_f16 ? -14 : -126);
}

float RoundSum(const StepRule& rule, bool is_f16, double exact) {
  if (exact == 0) return 0;
  const int bits = is_f16 ? 10 : rule.mantissa_bits;
  const int unit = std::max(std::ilogb(exact), is_f16 ? -14 : -126) - bits;
  const double units = std::ldexp(exact, -unit);
  const double rounded = std::ldexp(is_f16 ? std::nearbyint(units) : std::trunc(units), unit) + 0.0;
  if (std::fabs(rounded) >= std::ldexp(1.0, is_f16 ? 16 : 128)) {
    return std::copysign(std::numeric_limits<float>::infinity(),
                         static_cast<float>(exact > 0) - 0.5f);
  }
  return static_cast<float>(rounded);
}

const VectorSteps& StepsOfProcessor() {
#ifdef HLOSCOPE_HAS_UNITS
  static const bool has_avx512 =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (has_avx512) return avx512_unit::kAllSteps;
#endif
#ifdef __x86_64__
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (has_avx2) return avx2_unit::kSteps;
#endif
  return any_unit::kSteps;
}

float AddOneSum(const FloatProduct& product, int row, int column, int first, float sum) {
  const int end = std::min(first + product.step, product.depth);
  const float* a = product.a.values + row * product.depth;
  const int32_t* a_exponents = product.a.exponents + row * product.depth;
  const auto at = [&](int k) { return k * kPanelColumns + column; };
  double plain = sum;  // infinity and NaN come out of plain sums; those of numbers stay far below
                       // the largest double
  int largest = std::isfinite(sum) ? ExponentOfSum(sum, product.has_f16_sums) : 0;
  for (int k = first; k < end; ++k) {
    const double term = static_cast<double>(a[k]) * product.b.values[at(k)];
    plain += term;
    largest = std::max(
        largest, term == 0 ? kExponentOfZeroTerm : a_exponents[k] + product.b.exponents[at(k)]);
  }
  if (std::isnan(plain)) return std::bit_cast<float>(0x7fffffffu);
  if (std::isinf(plain)) return static_cast<float>(plain);
  const int power = product.rule.fraction_bits - largest;
  double units = std::trunc(std::ldexp(static_cast<double>(sum), power));
  for (int k = first; k < end; ++k) {
    const double term = static_cast<double>(a[k]) * product.b.values[at(k)];
    units += std::trunc(std::ldexp(term, power));
  }
  return RoundSum(product.rule, product.has_f16_sums, std::ldexp(units, -power));
}

}  // namespace hloscope::ptx
