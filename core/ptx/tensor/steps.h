// Products of floats and of integers, eight columns at a time, as the steps of a tensor core add
// them up.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/ptx/tensor/tensor.h"

namespace hloscope::ptx {

inline constexpr int kPanelColumns = 8;

// Exponents of what has none. Sums of two of them stay apart from those of numbers, which are from
// -252 to 254.
inline constexpr int32_t kZeroExponent = -2000;
inline constexpr int32_t kSpecialExponent = 4000;  // of infinity and NaN

struct ElementRow {
  std::string_view text;
  int bits, mantissa_bits, bias;
  uint32_t first_special;
};

const ElementRow& RowOf(Element element);
inline bool IsInteger(Element element) { return RowOf(element).mantissa_bits == 0; }
// Bytes of one element in a tile.
inline int BytesOf(Element element) { return (RowOf(element).bits + 7) / 8; }

// How a unit adds up floats. One step: exact products, each of them and C truncated towards zero to
// `fraction_bits` below the largest exponent, an exact sum, one rounding. The next step starts from
// the rounded sum.
struct StepRule {
  int fraction_bits;
  int step_bytes;     // of a row of A that one step takes
  int mantissa_bits;  // that an f32 result keeps; it is rounded towards zero. An f16 result is
                      // rounded to nearest even
};

// The rule for floats `a` on `unit` of sm_`sm`; nullopt where it has no such products, or none
// whose bits are known.
std::optional<StepRule> RuleOf(TensorUnit unit, int sm, Element a);

// f8 of mma.sync on sm_90 to sm_119 is widened to f16, which is exact: a product of the first two
// of each four elements along k, one of the others added to it, and their sum rounded once more
// into C (so ptxas 13.0 writes it).
bool IsWidened(Element a, int sm);

// One row of A (depth elements) or eight columns of B (depth rows of them), taken apart. An
// exponent is that of the leading bit as the element's own format has it: a subnormal has the
// smallest.
struct FloatPlane {
  const float* values;
  const int32_t* exponents;
};

struct FloatProduct {
  StepRule rule;
  bool has_f16_sums;
  int rows, depth, step;  // elements
  FloatPlane a, b;
  float* sums;  // [rows][8]: C on entry, D on return
};

// One mma.sync with sums of f32, over the 32 lanes of each register.
struct FragmentProduct {
  StepRule rule;
  const ElementRow &a_row, &b_row;
  int blocks;  // of 16 bytes of a row of A
  const uint32_t *const *a, *const *b, *const *c;
  uint32_t* const* d;
};

struct IntegerProduct {
  bool saturate;
  int rows, depth;
  const int32_t *a, *b;
  int32_t* sums;
};

// The loops above for one generation of vector units.
struct VectorSteps {
  // Takes `count` elements (a multiple of 8) apart.
  void (*decode)(const ElementRow& row, const std::byte* bits, int count, float* values,
                 int32_t* exponents);
  void (*add_floats)(const FloatProduct& product);
  void (*add_integers)(const IntegerProduct& product);
  // False, and nothing written, where a sum has exponents that floats do not do. Null where the
  // unit has no vectors of a size for it.
  bool (*multiply_fragments)(const FragmentProduct& product) = nullptr;
};

// Those of this processor.
const VectorSteps& StepsOfProcessor();

// The exponent with which a sum takes part in a step, and that of a term of zero.
inline constexpr int kExponentOfZeroTerm = -126;
int ExponentOfSum(float sum, bool is_f16);
// The exact sum of a step as its unit rounds it.
float RoundSum(const StepRule& rule, bool is_f16, double exact);

// The bits of a sum that was rounded to f16.
inline uint16_t F16Bits(float sum) {
  const auto bits = std::bit_cast<uint32_t>(sum);
  const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return 0x7fff;
  if (magnitude == 0x7f800000) return static_cast<uint16_t>(sign | 0x7c00);
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p-112f;  // exact: it has ten bits
  return static_cast<uint16_t>(sign | std::bit_cast<uint32_t>(scaled) >> 13);
}

// One step for one sum, without bounds on the exponents: columns of b are eight apart.
float AddOneSum(const FloatProduct& product, int row, int column, int first, float sum);

}  // namespace hloscope::ptx
