// Mma and MultiplyTile: operands to dense matrices, these to panels of eight columns, which steps.h
// multiplies.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/ptx/tensor/fragments.h"
#include "core/ptx/tensor/narrow.h"
#include "core/ptx/tensor/steps.h"
#include "core/ptx/tensor/tensor.h"

namespace hloscope::ptx {
namespace {

constexpr int kBlockRows = 16, kMaxDepth = 64;

// D = A·B + C of dense matrices; integers of four bits are widened to bytes before.
struct DenseProduct {
  int m, n, k;
  Element a, b, sums;
  bool saturate;
  StepRule rule;  // of floats
  const std::byte *a_bits, *b_bits, *c_bits;
  std::byte* d_bits;
};

// A panel taken apart: values and exponents of floats, or the integers.
template <int kElements>
struct Plane {
  union {
    alignas(32) float values[kElements];
    int32_t integers[kElements];
  };
  alignas(32) int32_t exponents[kElements];
};

template <int kElements>
void TakeApart(Element element, const std::byte* bits, int count, Plane<kElements>& plane) {
  if (!IsInteger(element)) {
    StepsOfProcessor().decode(RowOf(element), bits, count, plane.values, plane.exponents);
    return;
  }
  for (int i = 0; i < count; ++i) {
    const auto byte = static_cast<uint8_t>(bits[i]);
    plane.integers[i] = element == Element::kS8 ? static_cast<int8_t>(byte) : byte;
  }
}

void LoadSums(const DenseProduct& p, int row, int column, int rows, float* sums) {
  if (p.c_bits == nullptr) {
    std::fill_n(sums, rows * kPanelColumns, 0.0f);
    return;
  }
  const int bytes = BytesOf(p.sums);
  alignas(32) int32_t exponents[kPanelColumns];
  for (int i = 0; i < rows; ++i, sums += kPanelColumns) {
    const std::byte* from = p.c_bits + ((row + i) * p.n + column) * bytes;
    if (bytes == 4) {
      std::memcpy(sums, from, sizeof(float) * kPanelColumns);
    } else {
      StepsOfProcessor().decode(RowOf(p.sums), from, kPanelColumns, sums, exponents);
    }
  }
}

void StoreSums(const DenseProduct& p, int row, int column, int rows, const float* sums) {
  const int bytes = BytesOf(p.sums);
  for (int i = 0; i < rows; ++i, sums += kPanelColumns) {
    std::byte* to = p.d_bits + ((row + i) * p.n + column) * bytes;
    if (bytes == 4) {
      std::memcpy(to, sums, sizeof(float) * kPanelColumns);
      continue;
    }
    uint16_t halves[kPanelColumns];
    std::transform(sums, sums + kPanelColumns, halves, F16Bits);
    std::memcpy(to, halves, sizeof halves);
  }
}

// Up to 16 rows of D.
void MultiplyBlock(const DenseProduct& p, int row, int rows) {
  const int a_bytes = BytesOf(p.a), b_bytes = BytesOf(p.b);
  Plane<kBlockRows * kMaxDepth> a;
  Plane<kPanelColumns * kMaxDepth> b;
  std::byte panel[kPanelColumns * kMaxDepth * 4];
  alignas(32) float sums[kBlockRows * kPanelColumns];
  TakeApart(p.a, p.a_bits + row * p.k * a_bytes, rows * p.k, a);
  for (int column = 0; column < p.n; column += kPanelColumns) {
    const std::byte* b_bits = p.b_bits;  // of eight columns, one row behind the other
    if (p.n != kPanelColumns) {
      b_bits = panel;
      for (int k = 0; k < p.k; ++k) {
        std::memcpy(panel + k * kPanelColumns * b_bytes, p.b_bits + (k * p.n + column) * b_bytes,
                    static_cast<size_t>(kPanelColumns * b_bytes));
      }
    }
    TakeApart(p.b, b_bits, p.k * kPanelColumns, b);
    LoadSums(p, row, column, rows, sums);
    if (IsInteger(p.a)) {
      int32_t integers[kBlockRows * kPanelColumns];
      std::memcpy(integers, sums, sizeof integers);
      StepsOfProcessor().add_integers({p.saturate, rows, p.k, a.integers, b.integers, integers});
      std::memcpy(sums, integers, sizeof integers);
    } else {
      StepsOfProcessor().add_floats({p.rule,
                                     p.sums == Element::kF16,
                                     rows,
                                     p.k,
                                     p.rule.step_bytes / a_bytes,
                                     {a.values, a.exponents},
                                     {b.values, b.exponents},
                                     sums});
    }
    StoreSums(p, row, column, rows, sums);
  }
}

void MultiplyDense(const DenseProduct& p) {
  for (int row = 0; row < p.m; row += kBlockRows) {
    MultiplyBlock(p, row, std::min(kBlockRows, p.m - row));
  }
}

// Elements of four bits as bytes.
Element Widen(Element element, int count, std::byte* bits) {
  if (RowOf(element).bits != 4 || !IsInteger(element)) return element;
  const bool is_signed = element == Element::kS4;
  for (int i = count - 1; i >= 0; --i) {
    const auto nibble = static_cast<uint8_t>(static_cast<uint8_t>(bits[i / 2]) >> i % 2 * 4 & 15);
    bits[i] = std::byte(is_signed && nibble > 7 ? nibble | 0xf0 : nibble);
  }
  return is_signed ? Element::kS8 : Element::kU8;
}

template <typename T>
void Transpose(const std::byte* from, int rows, int columns, std::byte* to) {
  for (int column = 0; column < columns; ++column) {
    for (int row = 0; row < rows; ++row) {
      std::memcpy(to + (column * rows + row) * static_cast<int>(sizeof(T)),
                  from + (row * columns + column) * static_cast<int>(sizeof(T)), sizeof(T));
    }
  }
}

// Each sum is a chain of fused multiply-adds in order of k. The payload of a NaN is not documented;
// this one is the quiet one.
void MultiplyDoubles(int rows, int depth, const double* a, const double* b_columns, const double* c,
                     double* d) {
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < kPanelColumns; ++j) {
      double sum = c[i * kPanelColumns + j];
      for (int k = 0; k < depth; ++k) {
        sum = std::fma(a[i * depth + k], b_columns[j * depth + k], sum);
      }
      d[i * kPanelColumns + j] =
          std::isnan(sum) ? std::bit_cast<double>(uint64_t{0x7ff8} << 48) : sum;
    }
  }
}

// Rows of f64 from registers whose halves are two: lane 4g + t has element t of every four of row
// g, then of row g + 8.
void GatherDoubles(const uint32_t (*registers)[32], int rows, int depth, double* out) {
  const int halves = rows / 8;
  for (int i = 0; i < depth / 4 * halves; ++i) {
    for (int lane = 0; lane < 32; ++lane) {
      const int row = lane / 4 + i % halves * 8, k = i / halves * 4 + lane % 4;
      out[row * depth + k] = std::bit_cast<double>(registers[2 * i][lane] |
                                                   uint64_t{registers[2 * i + 1][lane]} << 32);
    }
  }
}

void MmaOfDoubles(const MmaForm& form, const uint32_t (*a)[32], const uint32_t (*b)[32],
                  const uint32_t (*c)[32], uint32_t (*d)[32]) {
  double a_rows[16 * 16], b_columns[8 * 16], sums[16 * kPanelColumns];
  GatherDoubles(a, form.m, form.k, a_rows);
  GatherDoubles(b, form.n, form.k, b_columns);
  GatherSums(c, form.m, sizeof(double), reinterpret_cast<std::byte*>(sums));
  MultiplyDoubles(form.m, form.k, a_rows, b_columns, sums, sums);
  ScatterSums(reinterpret_cast<const std::byte*>(sums), form.m, sizeof(double), d);
}

// Of each four f8 of a register two as f16, exactly.
void WidenHalf(Element element, const uint32_t (*registers)[32], int count, int half,
               uint32_t (*out)[32]) {
  for (int r = 0; r < count; ++r) {
    float values[128];
    alignas(32) int32_t exponents[128];
    StepsOfProcessor().decode(RowOf(element), reinterpret_cast<const std::byte*>(registers[r]), 128,
                              values, exponents);
    for (int lane = 0; lane < 32; ++lane) {
      const float* const two = values + 4 * lane + 2 * half;
      out[r][lane] = F16Bits(two[0]) | uint32_t{F16Bits(two[1])} << 16;
    }
  }
}

// Two f16 added and rounded once.
uint16_t SumOfHalves(uint32_t a, uint32_t b) {
  alignas(32) float values[8] = {};
  alignas(32) int32_t exponents[8];
  const uint16_t halves[8] = {static_cast<uint16_t>(a), static_cast<uint16_t>(b)};
  StepsOfProcessor().decode(RowOf(Element::kF16), reinterpret_cast<const std::byte*>(halves), 8,
                            values, exponents);
  const double sum = static_cast<double>(values[0]) + static_cast<double>(values[1]);  // exact
  if (sum == 0 || !std::isfinite(sum)) return F16Bits(static_cast<float>(sum));
  const int unit = std::max(std::ilogb(sum), -14) - 10;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(sum, -unit)), unit);
  return F16Bits(static_cast<float>(std::fabs(rounded) < 65536 ? rounded : rounded * HUGE_VAL));
}

void MmaOfWidened(const MmaForm& form, const uint32_t (*a)[32], const uint32_t (*b)[32],
                  const uint32_t (*c)[32], uint32_t (*d)[32]) {
  const MmaForm narrow{form.m, form.n, form.k / 2, Element::kF16, Element::kF16,
                       form.c, form.d, false,      form.sm};
  const int a_count = RegistersOf(form, MmaOperand::kA),
            b_count = RegistersOf(form, MmaOperand::kB), sums = RegistersOf(form, MmaOperand::kD);
  uint32_t half_a[4][32], half_b[2][32], sum[4][32] = {};
  for (int half = 0; half < 2; ++half) {
    WidenHalf(form.a, a, a_count, half, half_a);
    WidenHalf(form.b, b, b_count, half, half_b);
    Mma(narrow, half_a, half_b, sum, sum);
  }
  for (int r = 0; r < sums; ++r) {
    for (int lane = 0; lane < 32; ++lane) {
      if (form.d == Element::kF32) {
        const float x = std::bit_cast<float>(c[r][lane]) + std::bit_cast<float>(sum[r][lane]);
        d[r][lane] = x != x ? 0x7fffffff : std::bit_cast<uint32_t>(x);
      } else {
        d[r][lane] = SumOfHalves(c[r][lane], sum[r][lane]) |
                     uint32_t{SumOfHalves(c[r][lane] >> 16, sum[r][lane] >> 16)} << 16;
      }
    }
  }
}

// Mma by MmaInPlace; sums of f32 have four registers.
bool MultiplyFragments(const MmaForm& form, const uint32_t (*a)[32], const uint32_t (*b)[32],
                       const uint32_t (*c)[32], uint32_t (*d)[32]) {
  if (form.d != Element::kF32) return false;
  const uint32_t *a_registers[4], *b_registers[2], *c_registers[4];
  uint32_t* d_registers[4];
  for (int i = 0; i < RegistersOf(form, MmaOperand::kA); ++i) a_registers[i] = a[i];
  for (int i = 0; i < RegistersOf(form, MmaOperand::kB); ++i) b_registers[i] = b[i];
  for (int i = 0; i < 4; ++i) {
    c_registers[i] = c[i];
    d_registers[i] = d[i];
  }
  return MmaInPlace(form, a_registers, b_registers, c_registers, d_registers);
}

}  // namespace

bool MmaInPlace(const MmaForm& form, const uint32_t* const* a, const uint32_t* const* b,
                const uint32_t* const* c, uint32_t* const* d) {
  const auto multiply = StepsOfProcessor().multiply_fragments;
  if (multiply == nullptr || form.d != Element::kF32 || IsWidened(form.a, form.sm)) return false;
  return multiply({*RuleOf(TensorUnit::kMma, form.sm, form.a), RowOf(form.a), RowOf(form.b),
                   form.k * RowOf(form.a).bits / 128, a, b, c, d});
}

void Mma(const MmaForm& form, const uint32_t (*a)[32], const uint32_t (*b)[32],
         const uint32_t (*c)[32], uint32_t (*d)[32]) {
  if (form.a == Element::kF64) return MmaOfDoubles(form, a, b, c, d);
  if (IsWidened(form.a, form.sm)) return MmaOfWidened(form, a, b, c, d);
  if (MultiplyFragments(form, a, b, c, d)) return;
  const int row_bytes = form.k * RowOf(form.a).bits / 8, sum_bytes = BytesOf(form.d);
  // Twice the operands' bytes, for those of four bits.
  std::byte a_bits[2 * kOperandBytes], b_columns[kOperandBytes], b_bits[kOperandBytes],
      sums[kOperandBytes];
  GatherRows(a, form.m, row_bytes, a_bits);
  GatherRows(b, form.n, row_bytes, b_columns);
  GatherSums(c, form.m, sum_bytes, sums);
  DenseProduct product = {form.m,
                          form.n,
                          form.k,
                          Widen(form.a, form.m * form.k, a_bits),
                          Widen(form.b, form.k * form.n, b_columns),
                          form.d,
                          form.saturate,
                          {},
                          a_bits,
                          b_bits,
                          sums,
                          sums};
  switch (BytesOf(product.b)) {
    case 1:
      Transpose<uint8_t>(b_columns, form.n, form.k, b_bits);
      break;
    case 2:
      Transpose<uint16_t>(b_columns, form.n, form.k, b_bits);
      break;
    default:
      Transpose<uint32_t>(b_columns, form.n, form.k, b_bits);
  }
  if (!IsInteger(form.a)) product.rule = *RuleOf(TensorUnit::kMma, form.sm, form.a);
  MultiplyDense(product);
  ScatterSums(sums, form.m, sum_bytes, d);
}

void MultiplyTile(const TileForm& form, const std::byte* a, const std::byte* b, const std::byte* c,
                  std::byte* d) {
  if (IsNarrow(form)) return MultiplyNarrowTile(form, a, b, c, d);
  DenseProduct product = {form.m,        form.n, form.k, form.a, form.b, form.d,
                          form.saturate, {},     a,      b,      c,      d};
  if (!IsInteger(form.a)) product.rule = *RuleOf(form.unit, form.sm, form.a);
  MultiplyDense(product);
}

}  // namespace hloscope::ptx
