// Narrow products.
#include "core/ptx/tensor/narrow.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/ptx/tensor/steps.h"

namespace hloscope::ptx {
namespace {

// A number, the exponent with which it takes part, and that of its format's last bit.
struct Factor {
  double value = 0;
  int exponent = kZeroExponent, last_bit = 0;
};

Factor FactorOf(uint32_t bits, const ElementRow& row) {
  const uint32_t sign = 1u << (row.bits - 1), magnitude = bits & (sign - 1);
  const double signed_one = (bits & sign) != 0 ? -1 : 1;
  if (magnitude >= row.first_special) {
    const bool is_infinity = magnitude == row.first_special &&
                             (row.first_special & ((1u << row.mantissa_bits) - 1)) == 0;
    return {is_infinity ? signed_one * std::numeric_limits<double>::infinity()
                        : std::numeric_limits<double>::quiet_NaN(),
            0, 0};
  }
  const auto field = static_cast<int>(magnitude >> row.mantissa_bits);
  const int exponent = std::max(field, 1) - row.bias;
  const uint32_t fraction =
      (magnitude & ((1u << row.mantissa_bits) - 1)) | (field != 0 ? 1u << row.mantissa_bits : 0);
  if (fraction == 0) return {signed_one * 0.0, kZeroExponent, 0};
  const int last_bit = exponent - row.mantissa_bits;
  return {signed_one * std::ldexp(fraction, last_bit), exponent, last_bit};
}

Factor ScaleOf(uint8_t bits, bool is_ue4m3) {
  if (is_ue4m3) return FactorOf(bits & 0x7f, RowOf(Element::kE4m3));
  if (bits == 255) return {std::numeric_limits<double>::quiet_NaN(), 0, 0};
  const int exponent = bits - 127;
  return {std::ldexp(1.0, exponent), exponent, exponent};
}

// Rows of A, or columns of B, along k. `largest` and `last_bit` are bounds of those of a row's
// numbers; `plain`: all are finite.
class Factors {
 public:
  Factors(int rows, int depth)
      : depth_(depth),
        values_(Size(rows)),
        exponents_(Size(rows)),
        rows_(static_cast<size_t>(rows)) {}

  void Set(int row, int k, const Factor& element, const Factor& scale) {
    const size_t at =
        static_cast<size_t>(row) * static_cast<size_t>(depth_) + static_cast<size_t>(k);
    Bounds& bounds = rows_[static_cast<size_t>(row)];
    values_[at] = element.value * scale.value;
    exponents_[at] = kZeroExponent;
    if (!std::isfinite(values_[at])) bounds.plain = false;
    if (values_[at] == 0 || !std::isfinite(values_[at])) return;
    exponents_[at] = element.exponent + scale.exponent;
    bounds.largest = std::max(bounds.largest, exponents_[at]);
    bounds.last_bit = std::min(bounds.last_bit, element.last_bit + scale.last_bit);
  }

  struct Bounds {
    int largest = kZeroExponent, last_bit = -kZeroExponent;
    bool plain = true;
  };
  const Bounds& BoundsOf(int row) const { return rows_[static_cast<size_t>(row)]; }
  const double* Values(int row) const { return values_.data() + At(row); }
  const int* Exponents(int row) const { return exponents_.data() + At(row); }

 private:
  size_t Size(int rows) const { return static_cast<size_t>(rows) * static_cast<size_t>(depth_); }
  size_t At(int row) const { return static_cast<size_t>(row) * static_cast<size_t>(depth_); }

  int depth_;
  std::vector<double> values_;
  std::vector<int> exponents_;
  std::vector<Bounds> rows_;
};

// `step` is how far elements along k lie apart in `bits`, `next` how far rows do.
Factors TakeApart(Element element, const std::byte* bits, int rows, int depth, int next, int step,
                  const BlockScales* scales, const uint8_t* scale_bits) {
  std::array<Factor, 256> table;
  const ElementRow& row_of = RowOf(element);
  for (uint32_t i = 0; i < table.size(); ++i)
    table[i] = FactorOf(i & ((1u << row_of.bits) - 1), row_of);
  Factors factors(rows, depth);
  Factor scale{1, 0, 0};
  for (int row = 0; row < rows; ++row) {
    for (int k = 0; k < depth; ++k) {
      if (scales != nullptr && k % scales->block == 0) {
        scale = ScaleOf(scale_bits[row * (depth / scales->block) + k / scales->block],
                        scales->is_ue4m3);
      }
      factors.Set(row, k, table[static_cast<uint8_t>(bits[row * next + k * step])], scale);
    }
  }
  return factors;
}

// Sums in eight lanes, which the compiler makes vectors of; in any order, since it is exact, or
// the result is that of sums in double precision.
double Dot(const double* a, const double* b, int depth) {
  double lanes[8] = {};
  for (int k = 0; k < depth; k += 8) {
    for (int i = 0; i < 8; ++i) lanes[i] += a[k + i] * b[k + i];
  }
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

struct Sums {
  StepRule rule;
  bool is_f16;
  const Factors &a, &b;
  int depth;
};

// Whether no term of a sum, nor C, loses a bit where they are aligned.
bool IsExact(const Sums& s, int i, int j, float c) {
  const auto &a = s.a.BoundsOf(i), &b = s.b.BoundsOf(j);
  if (!a.plain || !b.plain || !std::isfinite(c)) return false;
  const int of_c = ExponentOfSum(c, s.is_f16);
  const int last =
      std::max({a.largest + b.largest, of_c, kExponentOfZeroTerm}) - s.rule.fraction_bits;
  return a.last_bit + b.last_bit >= last && (c == 0 || of_c - 23 >= last);
}

// Each term and C cut off at the last bit of the largest.
float AlignedSum(const Sums& s, int i, int j, float c) {
  const double *a = s.a.Values(i), *b = s.b.Values(j);
  const int *a_exponents = s.a.Exponents(i), *b_exponents = s.b.Exponents(j);
  double plain = c;
  int largest = std::isfinite(c) ? ExponentOfSum(c, s.is_f16) : 0;
  for (int k = 0; k < s.depth; ++k) {
    const double term = a[k] * b[k];
    plain += term;
    largest = std::max(largest, term == 0 ? kExponentOfZeroTerm : a_exponents[k] + b_exponents[k]);
  }
  if (std::isnan(plain)) return std::bit_cast<float>(0x7fffffffu);
  if (std::isinf(plain)) return static_cast<float>(plain);
  const int power = s.rule.fraction_bits - largest;
  double units = std::trunc(std::ldexp(static_cast<double>(c), power));
  for (int k = 0; k < s.depth; ++k) units += std::trunc(std::ldexp(a[k] * b[k], power));
  return RoundSum(s.rule, s.is_f16, std::ldexp(units, -power));
}

template <bool kExactly>
void Multiply(const TileForm& form, const std::byte* a, const std::byte* b, const std::byte* c,
              std::byte* d) {
  const BlockScales* const scales = form.scales;
  const Factors rows = TakeApart(form.a, a, form.m, form.k, form.k, 1, scales,
                                 scales != nullptr ? scales->a : nullptr);
  const Factors columns = TakeApart(form.b, b, form.n, form.k, 1, form.n, scales,
                                    scales != nullptr ? scales->b : nullptr);
  const bool is_f16 = form.d == Element::kF16;
  const Sums sums{*RuleOf(form.unit, form.sm, Element::kE4m3), is_f16, rows, columns, form.k};
  const auto n = static_cast<size_t>(form.n), width = static_cast<size_t>(BytesOf(form.d));
  std::vector<float> row(n);
  std::vector<int32_t> exponents(n);
  for (int i = 0; i < form.m; ++i) {
    const size_t first = static_cast<size_t>(i) * n;
    std::fill(row.begin(), row.end(), 0.0f);
    if (c != nullptr) {
      // Not by the decoder of f32, which is that of tf32.
      if (is_f16) {
        StepsOfProcessor().decode(RowOf(form.d), c + first * width, form.n, row.data(),
                                  exponents.data());
      } else {
        std::memcpy(row.data(), c + first * width, n * width);
      }
    }
    for (int j = 0; j < form.n; ++j) {
      float& sum = row[static_cast<size_t>(j)];
      if (kExactly || IsExact(sums, i, j, sum)) {
        const double exact =
            Dot(rows.Values(i), columns.Values(j), form.k) + static_cast<double>(sum);
        const bool is_nearest = kExactly && (!is_f16 || !std::isfinite(exact));
        sum = is_nearest ? static_cast<float>(exact) : RoundSum(sums.rule, is_f16, exact);
        if (sum != sum) sum = std::bit_cast<float>(0x7fffffffu);
      } else {
        sum = AlignedSum(sums, i, j, sum);
      }
    }
    if (is_f16) {
      for (size_t j = 0; j < n; ++j) {
        const uint16_t half = F16Bits(row[j]);
        std::memcpy(d + (first + j) * width, &half, width);
      }
    } else {
      std::memcpy(d + first * width, row.data(), n * width);
    }
  }
}

}  // namespace

bool IsNarrow(const TileForm& form) {
  const auto is_narrow = [](Element element) {
    return !IsInteger(element) && RowOf(element).bits < 8;
  };
  return form.scales != nullptr || is_narrow(form.a) || is_narrow(form.b);
}

void TakeFromBytes(Element element, std::span<std::byte> bytes) {
  const int bits = RowOf(element).bits;
  if (bits >= 8) return;
  const auto kept = static_cast<std::byte>((1u << bits) - 1);
  for (std::byte& byte : bytes) byte = (bits == 4 ? byte >> 2 : byte) & kept;
}

void MultiplyNarrowTile(const TileForm& form, const std::byte* a, const std::byte* b,
                        const std::byte* c, std::byte* d) {
  Multiply<false>(form, a, b, c, d);
}

void MultiplyNarrowTileExactly(const TileForm& form, const std::byte* a, const std::byte* b,
                               const std::byte* c, std::byte* d) {
  Multiply<true>(form, a, b, c, d);
}

}  // namespace hloscope::ptx
