// Written from the arithmetic's description and the PTX ISA's index formulas, without a look at
// tables of core/ptx/tensor.
#include "core/ptx/reference/tensor_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "core/ptx/reference/numbers.h"

namespace hloscope::ptx {
namespace {

using Wide = __int128;

// (-1)^sign · significand · 2^(exponent - fraction), the exponent being that of bit `fraction`.
struct Number {
  enum { kFinite, kInfinite, kNan } kind;
  bool negative;
  Wide significand;
  int exponent, fraction;
};

Number Split(uint64_t bits, int width, int fraction, int bias) {
  const uint64_t field = (bits >> fraction) & ((uint64_t{1} << (width - 1 - fraction)) - 1);
  const uint64_t tail = bits & ((uint64_t{1} << fraction) - 1);
  Number number = {Number::kFinite, ((bits >> (width - 1)) & 1) != 0, static_cast<Wide>(tail),
                   1 - bias, fraction};
  if (field != 0) {
    number.significand += Wide{1} << fraction;
    number.exponent = static_cast<int>(field) - bias;
  }
  return number;
}

Number NumberOf(uint64_t bits, Element type) {
  switch (type) {
    case Element::kE4m3: {
      Number number = Split(bits, 8, 3, 7);
      if ((bits & 0x7f) == 0x7f) number.kind = Number::kNan;
      return number;
    }
    case Element::kE5m2:
      return NumberOf(bits << 8, Element::kF16);
    case Element::kE2m3:
      return Split(bits, 6, 3, 1);
    case Element::kE3m2:
      return Split(bits, 6, 2, 3);
    case Element::kE2m1:
      return Split(bits, 4, 1, 1);
    case Element::kF16: {
      Number number = Split(bits, 16, 10, 15);
      if ((bits & 0x7c00) == 0x7c00)
        number.kind = (bits & 0x3ff) != 0 ? Number::kNan : Number::kInfinite;
      return number;
    }
    case Element::kBf16:
      return NumberOf(bits << 16, Element::kF32);
    case Element::kTf32:
      return NumberOf(bits & 0xffffe000, Element::kF32);
    default: {
      Number number = Split(bits, 32, 23, 127);
      if ((bits & 0x7f800000) == 0x7f800000)
        number.kind = (bits & 0x7fffff) != 0 ? Number::kNan : Number::kInfinite;
      return number;
    }
  }
}

// Drops what is below 2^(largest - fraction) and gives the rest in units of that.
Wide Aligned(const Number& term, int largest, int fraction) {
  if (term.significand == 0) return 0;  // its exponent does not count
  const int left = term.exponent - term.fraction - (largest - fraction);
  Wide units = 0;
  if (left >= 0) {
    units = term.significand << left;
  } else if (left > -120) {
    units = term.significand >> -left;
  }
  return term.negative ? -units : units;
}

// units · 2^lowest as a float with `fraction` bits whose smallest exponent is `smallest`; all bits
// of the magnitude of a format with `exponent_bits`.
uint64_t Packed(Wide units, int lowest, int fraction, int exponent_bits, int kept, bool to_even) {
  const bool negative = units < 0;
  Wide magnitude = negative ? -units : units;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  int top = -1;
  for (Wide rest = magnitude; rest != 0; rest >>= 1) ++top;
  if (top < 0) return 0;
  const int last = std::max(top + lowest, 1 - bias) - kept;  // exponent of the last bit that stays
  const int drop = last - lowest;
  if (drop > 120) {
    magnitude = 0;
  } else if (drop > 0) {
    const Wide rest = magnitude & ((Wide{1} << drop) - 1), half = Wide{1} << (drop - 1);
    magnitude >>= drop;
    if (to_even && (rest > half || (rest == half && (magnitude & 1) != 0))) ++magnitude;
  } else {
    magnitude <<= -drop;
  }
  if (magnitude == 0) return 0;
  int exponent = last + kept;
  if (magnitude >> (kept + 1) != 0) {  // rounded up to a power of two
    magnitude >>= 1;
    ++exponent;
  }
  magnitude <<= fraction - kept;
  const uint64_t sign = static_cast<uint64_t>(negative) << (fraction + exponent_bits);
  const uint64_t infinity = ((uint64_t{1} << exponent_bits) - 1) << fraction;
  if (exponent > bias) return sign | infinity;
  const bool is_normal = magnitude >> fraction != 0;
  const uint64_t field = is_normal ? static_cast<uint64_t>(exponent + bias) : 0;
  return sign | field << fraction |
         (static_cast<uint64_t>(magnitude) & ((uint64_t{1} << fraction) - 1));
}

uint64_t FloatStep(const std::vector<std::pair<Number, Number>>& factors, const Number& c,
                   Element d_type, ReferenceRule rule) {
  const bool is_f16 = d_type == Element::kF16;
  std::vector<Number> terms;
  bool has_nan = c.kind == Number::kNan, infinities[2] = {};
  if (c.kind == Number::kInfinite) infinities[c.negative] = true;
  terms.push_back(c);
  for (const auto& [x, y] : factors) {
    const bool negative = x.negative != y.negative;
    const bool is_infinite = x.kind == Number::kInfinite || y.kind == Number::kInfinite;
    has_nan |= x.kind == Number::kNan || y.kind == Number::kNan;
    has_nan |= is_infinite && ((x.kind == Number::kFinite && x.significand == 0) ||
                               (y.kind == Number::kFinite && y.significand == 0));
    if (is_infinite) infinities[negative] = true;
    terms.push_back({Number::kFinite, negative, x.significand * y.significand,
                     x.exponent + y.exponent, x.fraction + y.fraction});
  }
  if (has_nan || (infinities[0] && infinities[1])) return is_f16 ? 0x7fff : 0x7fffffff;
  if (infinities[0] || infinities[1]) {
    return (is_f16 ? 0x7c00u : 0x7f800000u) |
           (infinities[1] ? (is_f16 ? 0x8000u : 0x80000000u) : 0u);
  }
  int largest = -100000;
  for (const Number& term : terms)
    largest = std::max(largest, term.significand == 0 ? -126 : term.exponent);
  Wide sum = 0;
  for (const Number& term : terms) sum += Aligned(term, largest, rule.fraction);
  return is_f16 ? Packed(sum, largest - rule.fraction, 10, 5, 10, true)
                : Packed(sum, largest - rule.fraction, 23, 8, rule.kept, false);
}

std::optional<int64_t> IntegerOf(uint64_t bits, Element type) {
  switch (type) {
    case Element::kU4:
      return static_cast<int64_t>(bits & 15);
    case Element::kS4:
      return (static_cast<int64_t>(bits & 15) ^ 8) - 8;
    case Element::kU8:
      return static_cast<int64_t>(bits & 255);
    case Element::kS8:
      return (static_cast<int64_t>(bits & 255) ^ 128) - 128;
    default:
      return std::nullopt;
  }
}

}  // namespace

uint64_t ReferenceSum(const Bits& a, const Bits& b, uint64_t c, int i, int j, int n, int k,
                      Element a_type, Element b_type, Element d_type, bool saturate,
                      ReferenceRule rule) {
  const auto x = [&](int l) { return a[static_cast<size_t>(i * k + l)]; };
  const auto y = [&](int l) { return b[static_cast<size_t>(l * n + j)]; };
  if (a_type == Element::kF64) {
    auto sum = std::bit_cast<double>(c);
    for (int l = 0; l < k; ++l)
      sum = std::fma(std::bit_cast<double>(x(l)), std::bit_cast<double>(y(l)), sum);
    return sum != sum ? 0x7ff8000000000000 : std::bit_cast<uint64_t>(sum);
  }
  if (IntegerOf(0, a_type)) {
    Wide sum = static_cast<int32_t>(c);
    for (int l = k - 1; l >= 0; --l)
      sum += Wide{*IntegerOf(x(l), a_type)} * *IntegerOf(y(l), b_type);
    if (saturate) sum = std::min<Wide>(INT32_MAX, std::max<Wide>(INT32_MIN, sum));
    return static_cast<uint32_t>(sum);
  }
  uint64_t sum = c;
  for (int first = 0; first < k; first += rule.products) {
    std::vector<std::pair<Number, Number>> factors;
    for (int l = first; l < std::min(k, first + rule.products); ++l) {
      factors.emplace_back(NumberOf(x(l), a_type), NumberOf(y(l), b_type));
    }
    sum = FloatStep(factors, NumberOf(sum, d_type), d_type, rule);
  }
  return sum;
}

uint64_t ReferenceScaledSum(const Bits& a, const Bits& b, uint64_t c, int i, int j, int n, int k,
                            Element a_type, Element b_type, Element d_type,
                            const ReferenceScales& scales, ReferenceRule rule) {
  const auto scale = [&](const Bits& of, int row, int l) -> Number {
    const uint64_t bits = of[static_cast<size_t>(row * (k / scales.block) + l / scales.block)];
    if (scales.is_ue4m3) return NumberOf(bits & 0x7f, Element::kE4m3);
    return {bits == 255 ? Number::kNan : Number::kFinite, false, 1, static_cast<int>(bits) - 127,
            0};
  };
  const auto times = [](const Number& x, const Number& y) -> Number {
    Number product = x;
    if (y.kind == Number::kNan) product.kind = Number::kNan;
    // Infinity by a zero.
    if (x.kind == Number::kInfinite && y.significand == 0) product.kind = Number::kNan;
    product.significand *= y.significand;
    product.exponent += y.exponent;
    product.fraction += y.fraction;
    return product;
  };
  std::vector<std::pair<Number, Number>> factors;
  for (int l = 0; l < k; ++l) {
    factors.emplace_back(
        times(NumberOf(a[static_cast<size_t>(i * k + l)], a_type), scale(scales.a, i, l)),
        times(NumberOf(b[static_cast<size_t>(l * n + j)], b_type), scale(scales.b, j, l)));
  }
  return FloatStep(factors, NumberOf(c, d_type), d_type, rule);
}

uint64_t ReferenceWidened(const Bits& a, const Bits& b, uint64_t c, int i, int j, int n, int k,
                          Element a_type, Element b_type, Element d_type) {
  // As f16: a number that is subnormal in eight bits is not there.
  const auto wide = [](uint64_t bits, Element type) {
    return BitsOf(Type::kF16, NumberOf(type == Element::kE4m3 ? Type::kE4m3 : Type::kE5m2, bits),
                  Round::kRn);
  };
  uint64_t sum = 0;
  for (const int half : {0, 2}) {
    Bits row, column;
    for (int l = 0; l < k; ++l) {
      if (l % 4 / 2 * 2 != half) continue;
      row.push_back(wide(a[static_cast<size_t>(i * k + l)], a_type));
      column.push_back(wide(b[static_cast<size_t>(l * n + j)], b_type));
    }
    sum = ReferenceSum(row, column, sum, 0, 0, 1, k / 2, Element::kF16, Element::kF16, d_type,
                       false, {k / 2, 25, 23});
  }
  const Type type = d_type == Element::kF32 ? Type::kF32 : Type::kF16;
  return RoundedOnce(Sum::kAdd, type, NumberOf(type, c), NumberOf(type, sum), 0, Round::kRn);
}

std::pair<int, int> PlaceInA(const MmaForm& form, int lane, int i) {
  const int group = lane >> 2, thread = lane % 4;
  switch (form.a) {
    case Element::kF64:
      if (form.m == 8) return {group, thread};
      return {i % 2 == 0 ? group : group + 8, thread + i / 2 * 4};
    case Element::kTf32:
      return {i == 0 || i == 2 ? group : group + 8, i < 2 ? thread : thread + 4};
    case Element::kF16:
    case Element::kBf16:
      if (form.k == 8) return {i < 2 ? group : group + 8, thread * 2 + (i & 1)};
      return {i < 2 || (4 <= i && i < 6) ? group : group + 8,
              thread * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
    case Element::kS4:
    case Element::kU4:
      if (form.m == 8) return {group, thread * 8 + (i & 7)};
      if (form.k == 32) return {i < 8 ? group : group + 8, thread * 8 + (i & 7)};
      return {i < 8 || (16 <= i && i < 24) ? group : group + 8,
              thread * 8 + (i & 7) + (i >= 16 ? 32 : 0)};
    default:
      if (form.m == 8) return {group, thread * 4 + i};
      if (form.k == 16) return {i < 4 ? group : group + 8, thread * 4 + (i & 3)};
      return {i < 4 || (8 <= i && i < 12) ? group : group + 8,
              thread * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
  }
}

std::pair<int, int> PlaceInB(const MmaForm& form, int lane, int i) {
  const int group = lane >> 2, thread = lane % 4;
  switch (form.a) {
    case Element::kF64:
      return {thread + i * 4, group};
    case Element::kTf32:
      return {i == 0 ? thread : thread + 4, group};
    case Element::kF16:
    case Element::kBf16:
      return {thread * 2 + (i & 1) + (i >= 2 ? 8 : 0), group};
    case Element::kS4:
    case Element::kU4:
      return {thread * 8 + (i & 7) + (i >= 8 ? 32 : 0), group};
    default:
      return {thread * 4 + (i & 3) + (i >= 4 ? 16 : 0), group};
  }
}

std::pair<int, int> PlaceInC(const MmaForm&, int lane, int i) {
  const int group = lane >> 2, thread = lane % 4;
  return {i < 2 ? group : group + 8, thread * 2 + (i & 1)};
}

}  // namespace hloscope::ptx
