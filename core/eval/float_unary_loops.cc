// Unary functions of real and complex numbers. f32 and narrower are computed in f64 and rounded
// once (half an ULP); f64 is within 2 ULP (the C library's functions).
#include <cmath>

#include "core/eval/lane_templates.h"

namespace hloscope::eval {
namespace {

using hlo::ElementType;
using hlo::Opcode;

// A function that the C++ library has for real and complex numbers alike.
#define FUNCTION(Name, name) \
  struct Name {              \
    template <typename T>    \
    static T Of(T x) {       \
      return std::name(x);   \
    }                        \
  };
FUNCTION(Acos, acos)
FUNCTION(Acosh, acosh)
FUNCTION(Asin, asin)
FUNCTION(Asinh, asinh)
FUNCTION(Atan, atan)
FUNCTION(Atanh, atanh)
FUNCTION(Cbrt, cbrt)
FUNCTION(Ceil, ceil)
FUNCTION(Cos, cos)
FUNCTION(Cosh, cosh)
FUNCTION(Erf, erf)
FUNCTION(Exp, exp)
FUNCTION(Floor, floor)
FUNCTION(Log, log)
FUNCTION(RoundAfz, round)
FUNCTION(RoundEven, nearbyint)
FUNCTION(Sin, sin)
FUNCTION(Sinh, sinh)
FUNCTION(Sqrt, sqrt)
FUNCTION(Tan, tan)
FUNCTION(Tanh, tanh)
#undef FUNCTION

struct Expm1 {
  static double Of(double x) { return std::expm1(x); }
  static std::complex<double> Of(std::complex<double> z) {
    // e^(x+iy) - 1, the real part without cancellation: expm1(x) cos y - 2 sin²(y/2).
    const double half_sine = std::sin(z.imag() / 2);
    return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * half_sine * half_sine,
            std::exp(z.real()) * std::sin(z.imag())};
  }
};

struct Log1p {
  static double Of(double x) { return std::log1p(x); }
  static std::complex<double> Of(std::complex<double> z) {
    // |1+z|² - 1 = x(2+x) + y², exact enough near zero.
    const double x = z.real(), y = z.imag();
    const double real = std::abs(x) < 0.5 && std::abs(y) < 0.5
                            ? 0.5 * std::log1p(x * (2 + x) + y * y)
                            : std::log(std::hypot(1 + x, y));
    return {real, std::atan2(y, 1 + x)};
  }
};

struct Logistic {
  static double Of(double x) { return 1 / (1 + std::exp(-x)); }
  static std::complex<double> Of(std::complex<double> z) { return 1.0 / (1.0 + std::exp(-z)); }
};

struct Rsqrt {
  static double Of(double x) { return 1 / std::sqrt(x); }
  static std::complex<double> Of(std::complex<double> z) { return 1.0 / std::sqrt(z); }
};

template <typename F>
LaneLoop RealOnly(ElementType type) {
  return RealFloatLoop<Unary, ComputedWide<F>>(type);
}
template <typename F>
LaneLoop RealAndComplex(ElementType type) {
  return FirstOf(RealFloatLoop<Unary, ComputedWide<F>>(type),
                 ComplexLoop<Unary, ComputedWide<F>>(type));
}

}  // namespace

LaneLoop FindFloatUnaryLoop(Opcode opcode, ElementType type) {
  switch (opcode) {
    case Opcode::kAcos:
      return RealAndComplex<Acos>(type);
    case Opcode::kAcosh:
      return RealAndComplex<Acosh>(type);
    case Opcode::kAsin:
      return RealAndComplex<Asin>(type);
    case Opcode::kAsinh:
      return RealAndComplex<Asinh>(type);
    case Opcode::kAtan:
      return RealAndComplex<Atan>(type);
    case Opcode::kAtanh:
      return RealAndComplex<Atanh>(type);
    case Opcode::kCbrt:
      return RealOnly<Cbrt>(type);
    case Opcode::kCeil:
      return RealOnly<Ceil>(type);
    case Opcode::kCos:
      return RealAndComplex<Cos>(type);
    case Opcode::kCosh:
      return RealAndComplex<Cosh>(type);
    case Opcode::kErf:
      return RealOnly<Erf>(type);
    case Opcode::kExp:
      return RealAndComplex<Exp>(type);
    case Opcode::kExpm1:
      return RealAndComplex<Expm1>(type);
    case Opcode::kFloor:
      return RealOnly<Floor>(type);
    case Opcode::kLog:
      return RealAndComplex<Log>(type);
    case Opcode::kLog1p:
      return RealAndComplex<Log1p>(type);
    case Opcode::kLogistic:
      return RealAndComplex<Logistic>(type);
    case Opcode::kRoundNearestAfz:
      return RealOnly<RoundAfz>(type);
    case Opcode::kRoundNearestEven:
      return RealOnly<RoundEven>(type);
    case Opcode::kRsqrt:
      return RealAndComplex<Rsqrt>(type);
    case Opcode::kSin:
      return RealAndComplex<Sin>(type);
    case Opcode::kSinh:
      return RealAndComplex<Sinh>(type);
    case Opcode::kSqrt:
      return RealAndComplex<Sqrt>(type);
    case Opcode::kTan:
      return RealAndComplex<Tan>(type);
    case Opcode::kTanh:
      return RealAndComplex<Tanh>(type);
    default:
      return nullptr;
  }
}

}  // namespace hloscope::eval
