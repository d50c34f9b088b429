// Unary functions of real numbers. f32 and narrower are computed in f64 and rounded once (half an
// ULP); f64 is within 2 ULP (the C library's functions).
#include <cmath>

#include "core/eval/loops/lane_templates.h"

namespace hloscope::eval {
namespace {

using hlo::ElementType;
using hlo::Opcode;

// A function that the C++ library has.
#define FUNCTION(Name, name)                            \
  struct Name {                                         \
    static double Of(double x) { return std::name(x); } \
  };
FUNCTION(Acos, acos)
FUNCTION(Acosh, acosh)
FUNCTION(Asin, asin)
FUNCTION(Asinh, asinh)
FUNCTION(Atan, atan)
FUNCTION(Atanh, atanh)
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
FUNCTION(Expm1, expm1)
FUNCTION(Log1p, log1p)
#undef FUNCTION

// One step of Newton's method brings the library's 3 ULP to half of one.
struct Cbrt {
  static double Of(double x) {
    const double root = std::cbrt(x);
    if (root == 0 || !std::isfinite(root)) return root;
    const long double y = root;
    return static_cast<double>(y - (y * y * y - x) / (3 * y * y));
  }
};

struct Logistic {
  static double Of(double x) { return 1 / (1 + std::exp(-x)); }
};

struct Rsqrt {
  static double Of(double x) { return 1 / std::sqrt(x); }
};

template <typename F>
LaneLoop Real(ElementType type) {
  return RealFloatLoop<Unary, ComputedWide<F>>(type);
}

}  // namespace

LaneLoop FindFloatUnaryLoop(Opcode opcode, ElementType type) {
  switch (opcode) {
    case Opcode::kAcos:
      return Real<Acos>(type);
    case Opcode::kAcosh:
      return Real<Acosh>(type);
    case Opcode::kAsin:
      return Real<Asin>(type);
    case Opcode::kAsinh:
      return Real<Asinh>(type);
    case Opcode::kAtan:
      return Real<Atan>(type);
    case Opcode::kAtanh:
      return Real<Atanh>(type);
    case Opcode::kCbrt:
      return Real<Cbrt>(type);
    case Opcode::kCeil:
      return Real<Ceil>(type);
    case Opcode::kCos:
      return Real<Cos>(type);
    case Opcode::kCosh:
      return Real<Cosh>(type);
    case Opcode::kErf:
      return Real<Erf>(type);
    case Opcode::kExp:
      return Real<Exp>(type);
    case Opcode::kExpm1:
      return Real<Expm1>(type);
    case Opcode::kFloor:
      return Real<Floor>(type);
    case Opcode::kLog:
      return Real<Log>(type);
    case Opcode::kLog1p:
      return Real<Log1p>(type);
    case Opcode::kLogistic:
      return Real<Logistic>(type);
    case Opcode::kRoundNearestAfz:
      return Real<RoundAfz>(type);
    case Opcode::kRoundNearestEven:
      return Real<RoundEven>(type);
    case Opcode::kRsqrt:
      return Real<Rsqrt>(type);
    case Opcode::kSin:
      return Real<Sin>(type);
    case Opcode::kSinh:
      return Real<Sinh>(type);
    case Opcode::kSqrt:
      return Real<Sqrt>(type);
    case Opcode::kTan:
      return Real<Tan>(type);
    case Opcode::kTanh:
      return Real<Tanh>(type);
    default:
      return nullptr;
  }
}

}  // namespace hloscope::eval
