#include "core/base/complex/double_double.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

namespace hloscope {
namespace {

constexpr long double kInfinity = std::numeric_limits<long double>::infinity();

// In three parts: multiples of them keep all bits of a DoubleDouble.
constexpr long double kLog2[] = {0x2c5c85fdf473de6bp-62L, -0xd871319ff0342543p-130L,
                                 0x79a193394c5b16c5p-199L};
constexpr long double kHalfPi[] = {0xc90fdaa22168c235p-63L, -0xece675d1fc8f8cbbp-129L,
                                   -0x5bf6c7ddd660ce3p-189L};

// a + b where a is the larger, or 0.
constexpr DoubleDouble SumOfOrdered(long double a, long double b) {
  const long double sum = a + b;
  return {sum, b - (sum - a)};
}

constexpr DoubleDouble Sum(long double a, long double b) {
  const long double sum = a + b, of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}

// The upper half of the bits; what is left has no more.
constexpr long double UpperHalf(long double x) {
  constexpr int kHalf = (std::numeric_limits<long double>::digits + 1) / 2;
  constexpr auto kSplitter = static_cast<long double>((int64_t{1} << kHalf) + 1);
  const long double scaled = kSplitter * x;
  return scaled - (scaled - x);
}

constexpr DoubleDouble Product(long double a, long double b) {
  const long double product = a * b;
  const long double a_high = UpperHalf(a), a_low = a - a_high;
  const long double b_high = UpperHalf(b), b_low = b - b_high;
  const long double lost =
      ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
  return {product, lost};
}

constexpr DoubleDouble Add(DoubleDouble x, DoubleDouble y) {
  const DoubleDouble high = Sum(x.high, y.high), low = Sum(x.low, y.low);
  const DoubleDouble sum = SumOfOrdered(high.high, high.low + low.high);
  return SumOfOrdered(sum.high, sum.low + low.low);
}

constexpr DoubleDouble Negative(DoubleDouble x) { return {-x.high, -x.low}; }

constexpr DoubleDouble Multiply(DoubleDouble x, DoubleDouble y) {
  const DoubleDouble product = Product(x.high, y.high);
  return SumOfOrdered(product.high, product.low + (x.high * y.low + x.low * y.high));
}

// A quotient of the first parts, twice corrected by what is left.
constexpr DoubleDouble Divide(DoubleDouble x, DoubleDouble y) {
  const long double first = x.high / y.high;
  const DoubleDouble rest = Add(x, Negative(Multiply(y, {first, 0})));
  const long double second = rest.high / y.high;
  const long double third = Add(rest, Negative(Multiply(y, {second, 0}))).high / y.high;
  return Add(SumOfOrdered(first, second), {third, 0});
}

constexpr int kInverses = 36;
constexpr auto kInverse = [] {
  std::array<DoubleDouble, kInverses> of = {};
  for (int n = 1; n < kInverses; ++n) of[n] = Divide({1, 0}, {static_cast<long double>(n), 0});
  return of;
}();

DoubleDouble Scaled(DoubleDouble x, int exponent) {
  return {std::ldexp(x.high, exponent), std::ldexp(x.low, exponent)};
}

// x - n times a number in three parts.
DoubleDouble Reduced(DoubleDouble x, long double n, const long double (&unit)[3]) {
  for (const long double part : unit) x = x - Product(n, part);
  return x;
}

// The alternating series first (1 - s / (k (k+1)) (1 - s / ((k+2) (k+3)) (…))) for s below 1.
DoubleDouble AlternatingSeries(DoubleDouble first, DoubleDouble s, int k) {
  DoubleDouble sum = {1, 0};
  for (int n = k + 2 * ((kInverses - 3 - k) / 2); n >= k; n -= 2) {
    sum = DoubleDouble{1, 0} - s * kInverse[n] * kInverse[n + 1] * sum;
  }
  return first * sum;
}

}  // namespace

DoubleDouble operator+(DoubleDouble x, DoubleDouble y) { return Add(x, y); }
DoubleDouble operator-(DoubleDouble x, DoubleDouble y) { return Add(x, Negative(y)); }
DoubleDouble operator*(DoubleDouble x, DoubleDouble y) { return Multiply(x, y); }
DoubleDouble operator/(DoubleDouble x, DoubleDouble y) { return Divide(x, y); }

// e^x - 1 of x's rest by log 2, divided by 2^kHalvings, from its series; doubled kHalvings times by
// e^2r - 1 = 2 (e^r - 1) + (e^r - 1)², which loses nothing of small ones.
DoubleDouble ExpOf(DoubleDouble x) {
  constexpr int kHalvings = 8, kTerms = 11, kFar = std::numeric_limits<long double>::max_exponent;
  const long double n = std::nearbyint(x.high / kLog2[0]);
  if (n > kFar) return {kInfinity, 0};
  if (n < -2 * kFar) return {};
  const DoubleDouble rest = Scaled(Reduced(x, n, kLog2), -kHalvings);
  DoubleDouble minus_one;
  for (int i = kTerms; i >= 1; --i) {
    minus_one = rest * kInverse[i] * (DoubleDouble{1, 0} + minus_one);
  }
  for (int i = 0; i < kHalvings; ++i) {
    minus_one = Scaled(minus_one, 1) + minus_one * minus_one;
  }
  return Scaled(DoubleDouble{1, 0} + minus_one, static_cast<int>(n));
}

// One step of Newton's method: log x = y + log (x e^-y).
DoubleDouble LogarithmOf(DoubleDouble x) {
  const DoubleDouble near = {std::log(x.high), 0};
  const DoubleDouble rest = x * ExpOf(Negative(near)) - DoubleDouble{1, 0};
  return near + (rest - Scaled(rest * rest, -1));
}

SineCosine SinCos(DoubleDouble x) {
  constexpr long double kFar = 0x1p120L;
  if (std::fabs(x.high) >= kFar) return {{std::sin(x.high), 0}, {std::cos(x.high), 0}};
  // A number of quarter turns has 64 bits, so a large angle takes two steps.
  DoubleDouble rest = x;
  int quarter = 0;
  while (true) {
    const long double quarters = std::nearbyint(rest.high / kHalfPi[0]);
    if (quarters == 0) break;
    rest = Reduced(rest, quarters, kHalfPi);
    quarter += static_cast<int>(std::fmod(quarters, 4.0L));
  }
  const DoubleDouble square = rest * rest;
  const DoubleDouble sine = AlternatingSeries(rest, square, 2);
  const DoubleDouble cosine = AlternatingSeries({1, 0}, square, 1);
  switch (quarter & 3) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, Negative(sine)};
    case 2:
      return {Negative(sine), Negative(cosine)};
    default:
      return {Negative(cosine), sine};
  }
}

// One step of Newton's method: what is left, turned back by an angle that is near, is a small one.
DoubleDouble AngleOf(long double y, long double x) {
  const DoubleDouble near = {std::atan2(y, x), 0};
  if (y == 0 && !std::signbit(x)) return near;
  const auto [sine, cosine] = SinCos(near);
  const DoubleDouble px = {x, 0}, py = {y, 0};
  return near + (py * cosine - px * sine) / (px * cosine + py * sine);
}

}  // namespace hloscope
