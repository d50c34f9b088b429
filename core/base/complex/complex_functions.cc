// The powers of complex numbers that need more bits than long double has.
#include "core/base/complex/complex_functions.h"

#include <algorithm>
#include <optional>

#include "core/base/complex/double_double.h"

namespace hloscope::complex_functions {

namespace {

// A real power of a negative number: whole and half turns are exact.
Pair<long double> PowerOfNegative(Pair<long double> x, long double y) {
  const long double size = std::pow(-x.real(), y);
  const long double turns = std::fmod(y, 2.0L), quarters = std::nearbyint(2 * turns);
  const long double angle = (turns - quarters / 2) * std::numbers::pi_v<long double>;
  const long double sine = std::sin(angle), cosine = std::cos(angle);
  const int quarter = static_cast<int>(quarters) & 3;
  const long double real = quarter == 0   ? cosine
                           : quarter == 1 ? 0 - sine
                           : quarter == 2 ? -cosine
                                          : sine;
  const long double imag = quarter == 0   ? sine
                           : quarter == 1 ? cosine
                           : quarter == 2 ? 0 - sine
                                          : -cosine;
  return {size * real, std::signbit(x.imag()) ? -size * imag : size * imag};
}

// In long double alone, where what y log x is off by leaves enough bits of both parts of c128. Of a
// logarithm near zero it is as much as of one.
std::optional<Pair<long double>> PowerOfFewTurns(Pair<long double> x, Pair<long double> y) {
  constexpr long double kMost = 64, kUlps = 0x1p-62L, kEnough = 0x1p-53L;
  const long double a = std::max(std::fabs(x.real()), std::fabs(x.imag()));
  const long double b = std::min(std::fabs(x.real()), std::fabs(x.imag()));
  const long double size = std::hypot(a, b);
  const bool is_near = size > 0.5L && size < 2;
  const long double length = is_near ? std::log1p((a - 1) * (a + 1) + b * b) / 2 : std::log(size);
  const long double turn = std::atan2(x.imag(), x.real());
  const long double c = y.real(), d = y.imag();
  const long double terms =
      (std::fabs(c) + std::fabs(d)) * (1 + std::fabs(length) + std::fabs(turn));
  if (!(terms < kMost)) return std::nullopt;
  const long double grown = std::exp(c * length - d * turn), angle = d * length + c * turn;
  const long double sine = std::sin(angle), cosine = std::cos(angle);
  const long double smaller = std::min(std::fabs(sine), std::fabs(cosine));
  if (angle != 0 && !(terms * kUlps < kEnough * smaller)) return std::nullopt;
  return Pair<long double>(grown * cosine, grown * sine);
}

}  // namespace

Pair<long double> PowerInDoubleDouble(Pair<long double> x, Pair<long double> y) {
  const auto is_finite = [](Pair<long double> z) {
    return std::isfinite(z.real()) && std::isfinite(z.imag());
  };
  if (!is_finite(x) || !is_finite(y) || x == Pair<long double>()) return std::pow(x, y);
  if (x.imag() == 0 && x.real() < 0 && y.imag() == 0) return PowerOfNegative(x, y.real());
  if (const auto few = PowerOfFewTurns(x, y)) return *few;
  const DoubleDouble a = {x.real(), 0}, b = {x.imag(), 0}, c = {y.real(), 0}, d = {y.imag(), 0};
  const DoubleDouble length = LogarithmOf(a * a + b * b) * DoubleDouble{0.5L, 0};
  const DoubleDouble turn = AngleOf(x.imag(), x.real());
  const DoubleDouble size = ExpOf(c * length - d * turn), angle = d * length + c * turn;
  if (!std::isfinite(size.high) || !std::isfinite(angle.high)) return std::pow(x, y);
  const auto [sine, cosine] = SinCos(angle);
  return {(size * cosine).high, (size * sine).high};
}

}  // namespace hloscope::complex_functions
