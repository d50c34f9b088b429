// Loops over complex numbers: which function each opcode is.
#include "core/base/complex/complex_functions.h"
#include "core/eval/loops/lane_templates.h"

namespace hloscope::eval {
namespace {

using namespace complex_functions;
using hlo::ElementType;
using hlo::Opcode;

// Pairs are ordered by their real parts, then by their imaginary ones (StableHLO: maximum, clamp).
template <typename T>
bool AtLeast(Pair<T> x, Pair<T> y) {
  return x.real() > y.real() || (x.real() == y.real() && x.imag() >= y.imag());
}

struct Maximum {
  template <typename T>
  static Pair<T> Of(Pair<T> x, Pair<T> y) {
    return AtLeast(x, y) ? x : y;
  }
};

struct Minimum {
  template <typename T>
  static Pair<T> Of(Pair<T> x, Pair<T> y) {
    return AtLeast(y, x) ? x : y;
  }
};

template <typename, typename P>
struct Clamp {
  static void Run(const Lanes& lanes) {
    const P* low = reinterpret_cast<const P*>(lanes.in[0]);
    const P* x = reinterpret_cast<const P*>(lanes.in[1]);
    const P* high = reinterpret_cast<const P*>(lanes.in[2]);
    P* out = reinterpret_cast<P*>(lanes.out);
    for (int64_t i = 0; i < lanes.count; ++i) {
      const P raised = AtLeast(x[i], low[i]) ? x[i] : low[i];
      out[i] = AtLeast(high[i], raised) ? raised : high[i];
    }
  }
};

template <typename F>
LaneLoop OneOperand(ElementType type) {
  return ComplexLoop<Unary, InWider<F>>(type);
}

constexpr LoopRow<LaneLoop> kUnaryLoops[] = {
    {Opcode::kAcos, OneOperand<Acos>},         {Opcode::kAcosh, OneOperand<Acosh>},
    {Opcode::kAsin, OneOperand<Asin>},         {Opcode::kAsinh, OneOperand<Asinh>},
    {Opcode::kAtan, OneOperand<Atan>},         {Opcode::kAtanh, OneOperand<Atanh>},
    {Opcode::kCos, OneOperand<Cos>},           {Opcode::kCosh, OneOperand<Cosh>},
    {Opcode::kExp, OneOperand<Exp>},           {Opcode::kExpm1, OneOperand<Expm1>},
    {Opcode::kLog, OneOperand<Log>},           {Opcode::kLog1p, OneOperand<Log1p>},
    {Opcode::kLogistic, OneOperand<Logistic>}, {Opcode::kRsqrt, OneOperand<Rsqrt>},
    {Opcode::kSign, OneOperand<Sign>},         {Opcode::kSin, OneOperand<Sin>},
    {Opcode::kSinh, OneOperand<Sinh>},         {Opcode::kSqrt, OneOperand<Sqrt>},
    {Opcode::kTan, OneOperand<Tan>},           {Opcode::kTanh, OneOperand<Tanh>},
};

constexpr LoopRow<LaneLoop> kBinaryLoops[] = {
    {Opcode::kMultiply, ComplexLoop<Binary, Multiply>},
    {Opcode::kDivide, ComplexLoop<Binary, Divide>},
    {Opcode::kMaximum, ComplexLoop<Binary, Maximum>},
    {Opcode::kMinimum, ComplexLoop<Binary, Minimum>},
    {Opcode::kPower, ComplexLoop<Binary, InWider<Power>>},
    {Opcode::kAtan2, ComplexLoop<Binary, InWider<Atan2>>},
};

}  // namespace

LaneLoop FindComplexUnaryLoop(Opcode opcode, ElementType type) {
  return FindLoop(kUnaryLoops, opcode, type);
}

LaneLoop FindComplexBinaryLoop(Opcode opcode, ElementType type) {
  return FindLoop(kBinaryLoops, opcode, type);
}

LaneLoop FindComplexClampLoop(ElementType type) { return ComplexLoop<Clamp, void>(type); }

}  // namespace hloscope::eval
