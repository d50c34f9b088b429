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

constexpr LoopRow<LaneLoop> kRealLoops[] = {
    {Opcode::kAcos, Real<Acos>},
    {Opcode::kAcosh, Real<Acosh>},
    {Opcode::kAsin, Real<Asin>},
    {Opcode::kAsinh, Real<Asinh>},
    {Opcode::kAtan, Real<Atan>},
    {Opcode::kAtanh, Real<Atanh>},
    {Opcode::kCbrt, Real<Cbrt>},
    {Opcode::kCeil, Real<Ceil>},
    {Opcode::kCos, Real<Cos>},
    {Opcode::kCosh, Real<Cosh>},
    {Opcode::kErf, Real<Erf>},
    {Opcode::kExp, Real<Exp>},
    {Opcode::kExpm1, Real<Expm1>},
    {Opcode::kFloor, Real<Floor>},
    {Opcode::kLog, Real<Log>},
    {Opcode::kLog1p, Real<Log1p>},
    {Opcode::kLogistic, Real<Logistic>},
    {Opcode::kRoundNearestAfz, Real<RoundAfz>},
    {Opcode::kRoundNearestEven, Real<RoundEven>},
    {Opcode::kRsqrt, Real<Rsqrt>},
    {Opcode::kSin, Real<Sin>},
    {Opcode::kSinh, Real<Sinh>},
    {Opcode::kSqrt, Real<Sqrt>},
    {Opcode::kTan, Real<Tan>},
    {Opcode::kTanh, Real<Tanh>},
};

}  // namespace

LaneLoop FindFloatUnaryLoop(Opcode opcode, ElementType type) {
  return FindLoop(kRealLoops, opcode, type);
}

}  // namespace hloscope::eval
