// Transforms of compiled code for processors without wide vectors, which tests hardly run on.
#include "core/linking/runtime/fft.h"

#include <gtest/gtest.h>

#include <complex>
#include <numbers>
#include <vector>

extern "C" bool hloscope_fft_plain(const HloscopeFft* fft, const std::byte* in, std::byte* out,
                                   int64_t count);

namespace hloscope {
namespace {

using Complex = std::complex<double>;

Complex Sum(const std::vector<Complex>& line, int64_t k) {
  Complex sum = 0;
  const double step = -2 * std::numbers::pi * static_cast<double>(k) / double(line.size());
  for (size_t j = 0; j < line.size(); ++j) sum += line[j] * std::polar(1.0, step * double(j));
  return sum;
}

TEST(PlainFftTest, IsTheSumThatItMeans) {
  constexpr int64_t kLines = 3;
  for (const int64_t length : {1, 2, 12, 64, 97, 1000}) {
    std::vector<Complex> in, out(static_cast<size_t>(length * kLines));
    for (int64_t i = 0; i < length * kLines; ++i) in.emplace_back(double(i % 7), double(i % 5) - 2);
    const HloscopeFft fft{.kind = kHloscopeFft, .is_double = true, .rank = 1, .lengths = {length}};
    ASSERT_TRUE(hloscope_fft_plain(&fft, reinterpret_cast<const std::byte*>(in.data()),
                                   reinterpret_cast<std::byte*>(out.data()), kLines));
    for (int64_t line = 0; line < kLines; ++line) {
      const auto begin = in.begin() + line * length;
      const std::vector<Complex> one(begin, begin + length);
      for (const int64_t k : {int64_t{0}, length / 3, length - 1}) {
        const Complex got = out[static_cast<size_t>(line * length + k)];
        EXPECT_LT(std::abs(got - Sum(one, k)), 1e-9 * double(length)) << length << " " << k;
      }
    }
  }
}

}  // namespace
}  // namespace hloscope
