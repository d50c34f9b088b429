// sin and cos. Coefficients are minimax fits of this project (Remez' algorithm).
#include <llvm/IR/Intrinsics.h>

#include <numbers>

#include "core/codegen/math/control_flow.h"
#include "core/codegen/math/functions.h"
#include "core/codegen/math/symbols.h"

namespace hloscope::codegen {

namespace {

using hlo::Opcode;
using llvm::Value;

// Above, numbers are reduced by the library.
constexpr double kLargest = 0x1p20;

// sin(x + quarters · π/2) for |x| below kLargest: reduced in f64 with π/2 in two parts.
Expression Turned(Expression x, int quarters) {
  constexpr double kMagic = 0x1.8p52, kHalfPi = std::numbers::pi / 2;
  constexpr double kHalfPiRest = 6.123233995736766e-17;
  const Expression wide = x.ToDouble();
  const Expression shifted = wide.Fma(2 / std::numbers::pi, kMagic);
  const Expression n = shifted - kMagic;
  const Expression r = n.Fma(-kHalfPiRest, n.Fma(-kHalfPi, wide)).ToFloat();
  Builder& b = x.builder();
  const Expression turns =
      Expression(b, b.CreateTrunc(shifted.Bits().value(), LanesLike(x.value(), b.getInt32Ty()))) +
      quarters;
  const Expression z = r * r;
  const Expression sine =
      (r * z).Fma(z.Polynomial({-0.1666666716337204, 0.008333329111337662, -0.0001983930851565674,
                                2.7180840334040113e-06}),
                  r);
  const Expression cosine = (z * z).Fma(
      z.Polynomial({0.04166664555668831, -0.0013887312961742282, 2.4432783902739175e-05}),
      z.Fma(-0.5, 1.0));
  const Expression is_sine = (turns & turns.Integer(1)).IsZero();
  const Expression sign = (turns & turns.Integer(2)) << 30;
  const Expression y = Select(is_sine, sine, cosine);
  return Expression(b, b.CreateXor(y.Bits().value(), sign.value())).AsNumber(x);
}

// The same, or through the runtime in lanes that are too large; of NaN either gives NaN.
Expression TurnedWithRuntimeFallback(Expression x, int quarters, Opcode opcode) {
  Builder& b = x.builder();
  Value* operands[] = {x.value()};
  return {b, Where(b, (x.Abs() > kLargest).value(), {Turned(x, quarters).value()},
                   [&] { return std::vector{CallByLane(b, opcode, operands)}; })[0]};
}

}  // namespace

Expression Sin(Expression x) {
  // Of small numbers, 0 with its sign among them, the sine is themselves.
  return Select(x.Abs() < 0x1p-12, x, TurnedWithRuntimeFallback(x, 0, Opcode::kSin));
}

Expression Cos(Expression x) { return TurnedWithRuntimeFallback(x, 1, Opcode::kCos); }

}  // namespace hloscope::codegen
