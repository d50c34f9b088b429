// The powers of complex numbers that need more bits than long double has.
#include "core/base/complex/complex_functions.h"

#include "core/base/complex/double_double.h"

namespace hloscope::complex_functions {

Pair<long double> PowerInDoubleDouble(Pair<long double> x, Pair<long double> y) {
  const auto is_finite = [](Pair<long double> z) {
    return std::isfinite(z.real()) && std::isfinite(z.imag());
  };
  if (!is_finite(x) || !is_finite(y) || x == Pair<long double>()) return std::pow(x, y);
  const DoubleDouble a = {x.real(), 0}, b = {x.imag(), 0}, c = {y.real(), 0}, d = {y.imag(), 0};
  const DoubleDouble length = LogarithmOf(a * a + b * b) * DoubleDouble{0.5L, 0};
  const DoubleDouble turn = AngleOf(x.imag(), x.real());
  const DoubleDouble size = ExpOf(c * length - d * turn), angle = d * length + c * turn;
  if (!std::isfinite(size.high) || !std::isfinite(angle.high)) return std::pow(x, y);
  const auto [sine, cosine] = SinCos(angle);
  return {(size * cosine).high, (size * sine).high};
}

}  // namespace hloscope::complex_functions
