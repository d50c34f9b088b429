// Complex numbers in our own GPU kernels on the simulated GPU, beside the interpreter.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <vector>

#include "core/hlo/literal.h"
#include "tests/replay/checked_runs.h"

namespace hloscope::replay {
namespace {

using hlo::Literal;

// Each product may leave the range of f64 at either end, or both and their difference not.
TEST(GpuComplex, ProductsOfDoubleComplexNumbersAreAsMeantAtBothEndsOfTheRange) {
  constexpr double kMax = std::numeric_limits<double>::max();
  constexpr double kMin = std::numeric_limits<double>::denorm_min();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double parts[] = {0,       -0.0,     1,         -0.7,       kMax,        -kMax / 3,
                          1.3e154, -2e154,   1e200,     3e-160,     -1e-165,     7e-300,
                          -kMin,   5 * kMin, kInfinity, -kInfinity, std::nan("")};
  using Z = std::complex<double>;
  std::vector<Z> numbers, left, right;
  for (const double x : parts) {
    for (const double y : parts) numbers.emplace_back(x, y);
  }
  for (const Z z : numbers) {
    left.insert(left.end(), numbers.size(), z);
    right.insert(right.end(), numbers.begin(), numbers.end());
  }
  const auto count = static_cast<int64_t>(left.size());
  const auto shape = hlo::Shape::Array(hlo::ElementType::kC128, {count});
  const std::vector<Literal> inputs = {Literal::Of<Z>(shape, left), Literal::Of<Z>(shape, right)};
  const std::string text = fmt::format(
      "HloModule m\nENTRY e {{\n  a = c128[{0}] parameter(0)\n  b = c128[{0}] parameter(1)\n"
      "  ROOT r = c128[{0}] multiply(a, b)\n}}\n",
      count);
  const Ran gpu = RunOn("gpu-sim", text, inputs), meant = RunOn("interpreter", text, inputs);
  ASSERT_EQ(gpu.results.size(), 1u);
  const auto is = gpu.results[0].data<double>(), wanted = meant.results[0].data<double>();
  int64_t different = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const bool is_same = is[i] == wanted[i] || (std::isnan(is[i]) && std::isnan(wanted[i]));
    const double bound = std::max(4e-16 * std::abs(wanted[i]), kMin);
    if (is_same || std::abs(is[i] - wanted[i]) <= bound) continue;
    ++different;
    EXPECT_LT(different, 10) << left[i / 2] << " by " << right[i / 2] << ": part " << i % 2 << ": "
                             << is[i] << ", not " << wanted[i];
  }
  EXPECT_EQ(different, 0) << "of " << wanted.size();
}

// Of a dot each product as above: what leaves the range of f64 and cancels leaves the rest, where
// the interpreter, as NumPy, has no number.
TEST(GpuComplex, DotsOfDoubleComplexNumbersKeepProductsThatCancelBeyondTheRange) {
  using Z = std::complex<double>;
  const std::vector<Z> left = {{1e200, 1e200}, {1, 0},           {1.5e154, 1.5e154},
                               {2, 0},         {1e-200, 1e-200}, {3, 0}};
  const std::vector<Z> right = {{1e154, 1e154}, {1e148, 0}};
  const std::vector<Literal> inputs = {
      Literal::Of<Z>(hlo::Shape::Array(hlo::ElementType::kC128, {3, 2}), left),
      Literal::Of<Z>(hlo::Shape::Array(hlo::ElementType::kC128, {2}), right)};
  const Ran gpu = RunOn("gpu-sim",
                        "HloModule m\nENTRY e {\n  a = c128[3,2] parameter(0)\n"
                        "  b = c128[2] parameter(1)\n  ROOT r = c128[3] dot(a, b), "
                        "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n",
                        inputs);
  ASSERT_EQ(gpu.results.size(), 1u);
  const auto is = gpu.results[0].data<double>();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double wanted[] = {1e148, kInfinity, 2e148, kInfinity, 3e148, 2e-46};
  for (size_t i = 0; i < 6; ++i) {
    const bool is_same = is[i] == wanted[i];
    EXPECT_TRUE(is_same || std::abs(is[i] - wanted[i]) <= 4e-16 * wanted[i])
        << i << ": " << is[i] << ", not " << wanted[i];
  }
}

// Where a part is infinite, zero or NaN both say the same of each part.
TEST(GpuComplex, ComplexNumbersWithoutAValueAreAsMeant) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float parts[] = {0.1f, -2, 1, kInfinity, -kInfinity, 0.0f, -0.0f, std::nanf("")};
  using Z = std::complex<float>;
  std::vector<Z> numbers, left, right;
  for (const float x : parts) {
    for (const float y : parts) numbers.emplace_back(x, y);
  }
  for (const Z z : numbers) {
    left.insert(left.end(), numbers.size(), z);
    right.insert(right.end(), numbers.begin(), numbers.end());
  }
  const auto count = static_cast<int64_t>(left.size());
  const auto shape = hlo::Shape::Array(hlo::ElementType::kC64, {count});
  const std::vector<Literal> inputs = {Literal::Of<Z>(shape, left), Literal::Of<Z>(shape, right)};
  for (const std::string call :
       {"divide(a, b)", "multiply(a, b)", "power(a, b)", "tan(b)", "tanh(b)", "acos(b)", "acosh(b)",
        "asin(b)", "asinh(b)", "atan(b)", "atanh(b)", "exponential(b)", "sqrt(b)", "rsqrt(b)"}) {
    const std::string text = fmt::format(
        "HloModule m\nENTRY e {{\n  a = c64[{0}] parameter(0)\n  b = c64[{0}] parameter(1)\n"
        "  ROOT r = c64[{0}] {1}\n}}\n",
        count, call);
    const Ran gpu = RunOn("gpu-sim", text, inputs), meant = RunOn("interpreter", text, inputs);
    ASSERT_EQ(gpu.results.size(), 1u);
    const auto is = gpu.results[0].data<Z>(), wanted = meant.results[0].data<Z>();
    for (size_t i = 0; i < wanted.size(); ++i) {
      const float room = std::isfinite(std::abs(wanted[i])) ? 1e-6f * std::abs(wanted[i]) : 0;
      const auto agree = [&](float x, float y) {
        return x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= room;
      };
      EXPECT_TRUE(agree(is[i].real(), wanted[i].real()) && agree(is[i].imag(), wanted[i].imag()))
          << call << " of " << left[i] << " and " << right[i] << ": " << is[i] << ", " << wanted[i];
    }
  }
}

TEST(GpuComplex, ComplexPowersOfOneAndInfinityAreThoseOfXla) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const hlo::Shape shape = hlo::Shape::Array(hlo::ElementType::kF64, {6});
  const std::vector<Literal> inputs = {
      Literal::Of<double>(shape, std::vector<double>{1, 1, kInf, kInf, kNan, 1}),
      Literal::Of<double>(shape, std::vector<double>{0, 0, 0, 0, 1, 0}),
      Literal::Of<double>(shape, std::vector<double>{kInf, kNan, 2, -2, 0, 0}),
      Literal::Of<double>(shape, std::vector<double>{1, 0, 0, 0, 0, -kInf})};
  for (const std::string type : {"c64", "c128"}) {
    const std::string text = fmt::format(R"(HloModule m
ENTRY e {{
  a = f64[6] parameter(0)
  b = f64[6] parameter(1)
  c = f64[6] parameter(2)
  d = f64[6] parameter(3)
  ab = c128[6] complex(a, b)
  cd = c128[6] complex(c, d)
  x = {0}[6] convert(ab)
  y = {0}[6] convert(cd)
  p = {0}[6] power(x, y)
  want = {0}[6] constant({{(1, 0), (1, 0), (inf, 0), (0, 0), (1, 0), (1, 0)}})
  ROOT r = pred[6] compare(p, want), direction=EQ
}})",
                                         type);
    for (const std::string platform : {"interpreter", "cpu", "gpu-sim"}) {
      const Ran ran = RunOn(platform, text, inputs);
      ASSERT_EQ(ran.results.size(), 1u);
      for (size_t i = 0; i < 6; ++i) {
        EXPECT_EQ(ran.results[0].bytes()[i], std::byte{1}) << type << " " << platform << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace hloscope::replay
