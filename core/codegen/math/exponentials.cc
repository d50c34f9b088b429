// exp and what is made of it. Coefficients are minimax fits of this project (Remez' algorithm).
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <numbers>

#include "core/codegen/math/exponential_parts.h"
#include "core/codegen/math/inline_functions.h"

namespace hloscope::codegen {

namespace {

constexpr double kLog2E = std::numbers::log2e, kLn2 = std::numbers::ln2;

// x = n·ln 2 + r with |r| <= ln 2 / 2. Adding a large number rounds to an integer, whose bits are
// then those of the sum. The products with the parts of ln 2 are exact enough with fma.
struct Reduced {
  Expression r;
  Expression n;        // an integer of the width of r
  Expression n_float;  // the same number
};
Reduced ReduceByLn2(Expression x) {
  const bool is_double = x.IsDouble();
  const double magic = is_double ? 0x1.8p52 : 0x1.8p23;
  const double high = is_double ? kLn2 : static_cast<double>(static_cast<float>(kLn2));
  const double low = is_double ? 2.3190468138462996e-17 : kLn2 - high;
  const Expression shifted = x.Fma(kLog2E, magic);
  const Expression n = shifted - magic;
  const Expression r = n.Fma(-low, n.Fma(-high, x));
  return {r, shifted.Bits() - x.Number(magic).Bits(), n};
}

// 2^n for n in the range of normal numbers.
Expression PowerOfTwo(Expression n, Expression like) {
  return like.IsDouble() ? ((n + 1023) << 52).AsNumber(like) : ((n + 127) << 23).AsNumber(like);
}

// y · 2^n, rounded once, where n may leave the range of exponents. AVX-512 has an instruction for
// that; elsewhere it takes two steps.
Expression Scaled(Expression y, const Reduced& by) {
  Builder& b = y.builder();
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(y.value()->getType());
  if (type != nullptr && type->getNumElements() == 16 &&
      b.GetInsertBlock()->getModule()->getModuleFlag(kHasAvx512) != nullptr) {
    llvm::Value* all = b.getInt16(0xffff);
    llvm::Value* rounding = b.getInt32(4);  // as the mode says
    return {b, b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                                 {y.value(), by.n_float.value(), y.value(), all, rounding})};
  }
  const Expression half = by.n >> 1;
  return y * PowerOfTwo(half, y) * PowerOfTwo(by.n - half, y);
}

}  // namespace

ExponentialParts PartsOfExp(Expression x) {
  const auto [r, n, n_float] = ReduceByLn2(x);
  const Expression q =
      r.Polynomial({0.5000000067677066, 0.16666665868943897, 0.04166629496207212,
                    0.008333497085991005, 0.0013944658787129933, 0.00019790332057336777});
  return {(r * r).Fma(q, r), PowerOfTwo(n, r)};
}

Expression Exp(Expression x) {
  // Below -104 the result rounds to 0. It is not computed, since denormal numbers are slow, and
  // masks of attention are made of it. e^89 is infinity.
  const Expression is_zero = x < -104, zero = x.Number(0);
  const Expression lowered = Select(x > 89, x.Number(89), x);
  const Reduced reduced = ReduceByLn2(Select(is_zero, zero, lowered));
  const Expression r = reduced.r;
  const Expression q = r.Polynomial({0.4999999403953552, 0.1666652113199234, 0.04166838899254799,
                                     0.008368716575205326, 0.001381459878757596});
  const Expression y = (r * r).Fma(q, r) + 1;
  return Select(is_zero, zero, Scaled(y, reduced));
}

Expression Expm1(Expression x) {
  const auto [p, scale] = PartsOfExp(x.ToDouble().Clamped(-60, 89));
  const Expression y = scale.Fma(p, scale - 1).ToFloat();
  return Select(x == 0, x, y);  // keeps the sign of 0
}

Expression Logistic(Expression x) {
  const Expression z = Exp(-x.Abs()), sum = z + 1;
  const Expression is_negative = x < 0, one = x.Number(1);
  const Expression numerator = Select(is_negative, z, one);
  const Expression q = numerator / sum;
  // What the sum and the quotient lost, divided by the sum.
  const Expression lost = (-q).Fma(sum, numerator) - q * (z - (sum - 1));
  return lost.Fma(Select(is_negative, one - q, q), q);
}

// Of |x| < 0.3; z is its square.
Expression SmallTanh(Expression x, Expression z) {
  return (x * z).Fma(z.Polynomial({-0.3333333432674408, 0.13333183526992798, -0.05388413742184639,
                                   0.020350804552435875}),
                     x);
}

// Near 0 a polynomial. Above, y / (y + 2) where y = e^2a - 1, a = |x|: e^2a = 2^n · e^2h with
// |h| <= ln 2 / 4, and the sum of 2^n - 1 and 2^n · 2h is rounded only once.
Expression Tanh(Expression x) {
  constexpr double kMagic = 0x1.8p23;
  constexpr double kHigh = static_cast<double>(static_cast<float>(kLn2 / 2));
  const Expression magnitude = x.Abs(), z = x * x;
  const Expression small = SmallTanh(x, z);
  const Expression a = Select(magnitude > 10, x.Number(10), magnitude);
  const Expression shifted = a.Fma(2 * kLog2E, kMagic), n = shifted - kMagic;
  const Expression h = n.Fma(kHigh - kLn2 / 2, n.Fma(-kHigh, a));
  const Expression q = h.Polynomial({0.9999998807907104, 0.6666608452796936, 0.3333471119403839,
                                     0.1338994652032852, 0.0442067161202431});
  // The bits of n are the lowest of the sum with the magic number.
  const Expression exponent = (shifted.Bits() << 23) + 0x3f800000;
  const Expression scale = exponent.AsNumber(x), twice = (exponent + 0x800000).AsNumber(x);
  const Expression y = (twice * (h * h)).Fma(q, twice.Fma(h, scale - 1));
  // The square of a denormal is 0, which is added to it exactly; the sign of 0 is kept apart.
  return Select(magnitude < 0.3, small, y / (y + 2)).WithSignOf(x);
}

// Below 1 a polynomial, above 1 - e^t(x): there the error of t is small beside 1.
Expression Erf(Expression x) {
  const Expression a = x.Abs(), z = x * x;
  const Expression small =
      x.Fma(z.Polynomial({0.12837916612625122, -0.3761262595653534, 0.1128358393907547,
                          -0.026853766292333603, 0.005188231356441975, -0.0008009264711290598,
                          7.850522524677217e-05}),
            x);
  const Expression t =
      a.Clamped(0, 4).Polynomial({5.3590352763421834e-05, -1.1289716958999634, -0.6343653798103333,
                                  -0.10724727809429169, 0.024508843198418617, -0.003961050882935524,
                                  0.00039562766323797405, -1.8122389519703574e-05});
  const Expression large = x.Number(1) - Exp(t);
  return Select(a < 1, small, large).WithSignOf(x);
}

namespace {

Expression Approximate(llvm::Intrinsic::ID id, Expression x) {
  return {x.builder(), DeviceInstruction(x.builder(), id, x.value())};
}
// e^(x·factor): rounding the product to f32 moves what does not overflow in 16 bits by 2^-17.
Expression ApproximateExp(Expression x, double factor) {
  return Approximate(llvm::Intrinsic::nvvm_ex2_approx_f, x * (factor * kLog2E));
}
Expression ApproximateReciprocal(Expression x) {
  return Approximate(llvm::Intrinsic::nvvm_rcp_approx_ftz_f, x);
}

}  // namespace

llvm::Value* RoundedFunction(Builder& b, hlo::Opcode opcode, llvm::Value* value) {
  const Expression x(b, value);
  switch (opcode) {
    case hlo::Opcode::kExp:
      return ApproximateExp(x, 1).value();
    case hlo::Opcode::kLogistic: {
      // Of negative numbers e^x / (e^x + 1), so that what is small is not cut off.
      const Expression z = ApproximateExp(x.Abs(), -1);
      return (Select(x < 0, z, x.Number(1)) * ApproximateReciprocal(z + 1)).value();
    }
    case hlo::Opcode::kRsqrt:
      return Approximate(llvm::Intrinsic::nvvm_rsqrt_approx_f, x).value();
    case hlo::Opcode::kTanh: {
      const Expression a = x.Abs();
      const Expression large = ApproximateReciprocal(ApproximateExp(a, 2) + 1).Fma(-2, x.Number(1));
      return Select(a < 0.3, SmallTanh(x, x * x), large).WithSignOf(x).value();
    }
    default:
      return nullptr;
  }
}

}  // namespace hloscope::codegen
