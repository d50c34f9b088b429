// Functions of complex numbers that round or need an order of operations, as types whose Of() is
// the function. c64 is computed in pairs of f64 and c128 in pairs of long double, and rounded once:
// within 4 ULP per part (Annex G of C says what special values give).
#pragma once

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <numbers>

namespace hloscope::complex_functions {

template <typename W>
using Pair = std::complex<W>;

template <typename T>
struct WiderPart;
template <>
struct WiderPart<float> {
  using Type = double;
};
template <>
struct WiderPart<double> {
  using Type = long double;
};

// F on the wider parts, rounded once.
template <typename F>
struct InWider {
  template <typename T>
  static Pair<T> Of(Pair<T> x) {
    return Pair<T>(F::Of(Pair<typename WiderPart<T>::Type>(x)));
  }
  template <typename T>
    requires requires(Pair<T> z) { F::Of(z, z); }
  static Pair<T> Of(Pair<T> x, Pair<T> y) {
    using W = typename WiderPart<T>::Type;
    return Pair<T>(F::Of(Pair<W>(x), Pair<W>(y)));
  }
};

#define FUNCTION(Name, name)       \
  struct Name {                    \
    template <typename W>          \
    static Pair<W> Of(Pair<W> z) { \
      return std::name(z);         \
    }                              \
  };
FUNCTION(Acos, acos)
FUNCTION(Acosh, acosh)
FUNCTION(Asin, asin)
FUNCTION(Asinh, asinh)
FUNCTION(Atan, atan)
FUNCTION(Atanh, atanh)
FUNCTION(Cos, cos)
FUNCTION(Cosh, cosh)
FUNCTION(Exp, exp)
FUNCTION(Log, log)
FUNCTION(Sin, sin)
FUNCTION(Sinh, sinh)
FUNCTION(Sqrt, sqrt)
FUNCTION(Tan, tan)
FUNCTION(Tanh, tanh)
#undef FUNCTION

// e^(x+iy) - 1, the real part without cancellation near zero: expm1(x) cos y - 2 sin²(y/2).
struct Expm1 {
  template <typename W>
  static Pair<W> Of(Pair<W> z) {
    const Pair<W> e = std::exp(z);
    if (!std::isfinite(z.imag()) || !std::isfinite(e.real())) return {e.real() - 1, e.imag()};
    const W half_sine = std::sin(z.imag() / 2);
    return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * half_sine * half_sine, e.imag()};
  }
};

// Near the circle |1+z| = 1 by |1+z|² - 1 = x(2+x) + y².
struct Log1p {
  template <typename W>
  static Pair<W> Of(Pair<W> z) {
    if (z == Pair<W>()) return z;
    const W x = z.real(), y = z.imag(), size = std::hypot(1 + x, y);
    const bool near = size > W(0.5) && size < 2;
    return {near ? std::log1p(x * (2 + x) + y * y) / 2 : std::log(size), std::atan2(y, 1 + x)};
  }
};

// 1 / (1 + e^-z) with the denominator cosh x + cos y = 2 (sinh²(x/2) + cos²(y/2)), which does not
// cancel. Far out one of 1 and e^-|x| is lost against the other.
struct Logistic {
  template <typename W>
  static Pair<W> Of(Pair<W> z) {
    constexpr W kFar = 100;
    const W x = z.real(), y = z.imag();
    const W sine = std::sin(y / 2), cosine = std::cos(y / 2);
    if (x > kFar) return {W(1), 2 * sine * cosine * std::exp(-x)};
    if (x < -kFar) return {std::cos(y) * std::exp(x), 2 * sine * cosine * std::exp(x)};
    const W half = std::sinh(x / 2), size = half * half + cosine * cosine;
    return {(std::expm1(x) + 2 * cosine * cosine) / (4 * size), sine * cosine / (2 * size)};
  }
};

// The conjugate of the root over its square's size.
struct Rsqrt {
  template <typename W>
  static Pair<W> Of(Pair<W> z) {
    const Pair<W> root = std::sqrt(z);
    const W size = std::hypot(z.real(), z.imag());
    if (size == 0 || !std::isfinite(size)) return Pair<W>(1) / root;
    return {root.real() / size, -root.imag() / size};
  }
};

struct Sign {
  template <typename W>
  static Pair<W> Of(Pair<W> z) {
    const W size = std::hypot(z.real(), z.imag());
    return size == 0 ? Pair<W>() : z / size;
  }
};

// a x product of f64 numbers and what rounding it to long double loses.
struct Product {
  Product(double a, double b) {
    const double a_high = High(a), a_low = a - a_high, b_high = High(b), b_low = b - b_high;
    value = static_cast<long double>(a) * b;
    lost = static_cast<long double>(a_high) * b_high - value;
    lost += static_cast<long double>(a_high) * b_low + static_cast<long double>(a_low) * b_high;
    lost += static_cast<long double>(a_low) * b_low;
  }
  // The upper half of the significand.
  static double High(double x) {
    return std::bit_cast<double>(std::bit_cast<uint64_t>(x) & ~uint64_t{0x7ffffff});
  }
  long double value, lost;
};

// a b + c d without loss where the products cancel.
inline long double SumOfProducts(double a, double b, double c, double d) {
  const Product x(a, b), y(c, d);
  const long double sum = x.value + y.value, lost = x.lost + y.lost;
  return std::isfinite(sum) && lost != 0 ? sum + lost : sum;  // a zero keeps its sign
}

struct Multiply {
  static Pair<float> Of(Pair<float> x, Pair<float> y) {
    const double a = x.real(), b = x.imag(), c = y.real(), d = y.imag();
    return {static_cast<float>(a * c - b * d), static_cast<float>(a * d + b * c)};
  }
  static Pair<double> Of(Pair<double> x, Pair<double> y) {
    const double a = x.real(), b = x.imag(), c = y.real(), d = y.imag();
    return {static_cast<double>(SumOfProducts(a, c, -b, d)),
            static_cast<double>(SumOfProducts(a, d, b, c))};
  }
};

// By (ac + bd) and (bc - ad) over c² + d²; C's division where that is no finite number.
struct Divide {
  static Pair<float> Of(Pair<float> x, Pair<float> y) {
    const double a = x.real(), b = x.imag(), c = y.real(), d = y.imag();
    return Finite<float, double>(x, y, a * c + b * d, b * c - a * d, c * c + d * d);
  }
  static Pair<double> Of(Pair<double> x, Pair<double> y) {
    const double a = x.real(), b = x.imag(), c = y.real(), d = y.imag();
    return Finite<double, long double>(
        x, y, SumOfProducts(a, c, b, d), SumOfProducts(b, c, -a, d),
        static_cast<long double>(c) * c + static_cast<long double>(d) * d);
  }
  template <typename T, typename W>
  static Pair<T> Finite(Pair<T> x, Pair<T> y, W real, W imag, W size) {
    if (size == 0 || !std::isfinite(size + real + imag)) return Pair<T>(Pair<W>(x) / Pair<W>(y));
    return {static_cast<T>(real / size), static_cast<T>(imag / size)};
  }
};

// exp(y log x): what y log x is off by is what the angle is off by, so a large one needs more bits
// than the result.
Pair<long double> PowerInDoubleDouble(Pair<long double> x, Pair<long double> y);

// As XLA: 1 to anything, and anything to 0, is 1; infinity to a real number is infinity or 0.
struct Power {
  template <typename W>
  static Pair<W> Of(Pair<W> x, Pair<W> y) {
    if (y == Pair<W>() || x == Pair<W>(1)) return 1;
    if (y.imag() == 0 && x == Pair<W>(std::numeric_limits<W>::infinity())) {
      if (y.real() > 0) return x;
      if (y.real() < 0) return 0;
    }
    if (x == Pair<W>() && y.imag() == 0) return y.real() > 0 ? W(0) : std::pow(W(0), y.real());
    return Usual(x, y);
  }

 private:
  static Pair<double> Usual(Pair<double> x, Pair<double> y) { return std::pow(x, y); }
  static Pair<long double> Usual(Pair<long double> x, Pair<long double> y) {
    return PowerInDoubleDouble(x, y);
  }
};

// -i log((x + iy) / sqrt(x² + y²)), which is atan(y/x), or half a turn on; 0 by 0 has none.
struct Atan2 {
  template <typename W>
  static Pair<W> Of(Pair<W> y, Pair<W> x) {
    constexpr W kPi = std::numbers::pi_v<W>;
    if (x == Pair<W>()) {
      constexpr W kNan = std::numeric_limits<W>::quiet_NaN();
      if (y == Pair<W>()) return {kNan, kNan};
      const bool right = y.real() > 0 || (y.real() == 0 && y.imag() >= 0);
      return {right ? kPi / 2 : -kPi / 2, W(0)};
    }
    const Pair<W> t = y / x, angle = std::atan(t);
    // x / sqrt(x² + y²) is 1 / sqrt(1 + t²) or its negative.
    const Pair<W> same = x / std::sqrt(x * x + y * y) * std::sqrt(Pair<W>(1) + t * t);
    if (!(same.real() < 0)) return angle;
    return {angle.real() + (std::signbit(angle.real()) ? kPi : -kPi), angle.imag()};
  }
};

}  // namespace hloscope::complex_functions
