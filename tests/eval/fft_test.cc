// Tests of fft against the definition in extended precision, lengths long, odd and prime included.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "core/eval/machine/evaluator.h"
#include "core/hlo/text/text.h"

namespace hloscope::eval {
namespace {

using Wide = std::complex<long double>;

// Numbers in [-1, 1) that are the same every time.
std::vector<std::complex<double>> Signal(size_t n) {
  uint64_t state = 88172645463325252u;
  auto next = [&] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<double>(static_cast<int64_t>(state)) * 0x1p-63;
  };
  std::vector<std::complex<double>> signal(n);
  for (auto& x : signal) x = {next(), next()};
  return signal;
}

std::vector<Wide> Definition(const std::vector<std::complex<double>>& x) {
  const size_t n = x.size();
  std::vector<Wide> roots(n), out(n);
  for (size_t k = 0; k < n; ++k) {
    const long double angle = -2 * std::numbers::pi_v<long double> * static_cast<long double>(k) /
                              static_cast<long double>(n);
    roots[k] = {std::cos(angle), std::sin(angle)};
  }
  for (size_t k = 0; k < n; ++k) {
    for (size_t j = 0; j < n; ++j) out[k] += Wide(x[j]) * roots[j * k % n];
  }
  return out;
}

template <typename T>
std::vector<std::complex<T>> Fft(std::string_view type, const std::vector<std::complex<T>>& x) {
  const std::string shape = std::string(type) + "[" + std::to_string(x.size()) + "]";
  const hlo::ParseResult parsed = hlo::ParseText(
      "HloModule m\nENTRY e {\n  x = " + shape + " parameter(0)\n  ROOT y = " + shape +
      " fft(x), fft_type=FFT, fft_length={" + std::to_string(x.size()) + "}\n}\n");
  const hlo::Module& module = *parsed.module;
  const hlo::Literal argument =
      hlo::Literal::Of<std::complex<T>>(module.shape(module.entry().root).WithoutLayouts(), x);
  const auto run = Evaluate(module, {&argument, 1});
  const auto values = run->result.literal().data<std::complex<T>>();
  return {values.begin(), values.end()};
}

// The root mean square of the error over that of the spectrum, in units of 2^-53.
TEST(Fft, IsAsAccurateAsHalvingIsInDouble) {
  for (size_t n : {1, 2, 3, 4, 5, 7, 16, 61, 64, 67, 100, 127, 1009, 1024, 1025, 2047, 4099}) {
    const auto x = Signal(n);
    const auto truth = Definition(x);
    const auto y = Fft<double>("c128", x);
    long double error = 0, power = 0;
    for (size_t k = 0; k < n; ++k) {
      error += std::norm(Wide(y[k]) - truth[k]);
      power += std::norm(truth[k]);
    }
    const long double units = std::sqrt(error / power) * 0x1p53L;
    EXPECT_LE(units, 1 + std::log2(static_cast<long double>(n))) << n;
  }
}

// Rounded once from double: within one unit in the last place, but where parts cancel.
TEST(Fft, IsRoundedOnceInSingle) {
  for (size_t n : {3, 64, 67, 1009, 4099}) {
    const auto wide = Signal(n);
    std::vector<std::complex<float>> x;
    for (const auto& value : wide) x.emplace_back(value);
    const std::vector<std::complex<double>> exact(x.begin(), x.end());
    const auto truth = Definition(exact);
    const auto y = Fft<float>("c64", x);
    for (size_t k = 0; k < n; ++k) {
      EXPECT_EQ(y[k].real(), static_cast<float>(truth[k].real())) << n << " " << k;
      EXPECT_EQ(y[k].imag(), static_cast<float>(truth[k].imag())) << n << " " << k;
    }
  }
}

}  // namespace
}  // namespace hloscope::eval
