// log and what is made of it. Coefficients are minimax fits of this project (Remez' algorithm).
#include <numbers>

#include "core/codegen/math/exponential_parts.h"

namespace hloscope::codegen {

namespace {

constexpr double kLog2E = std::numbers::log2e, kLn2 = std::numbers::ln2;

// x = 2^e · (1 + f) with 1 + f between the roots of 1/2 and 2, for positive normal x.
struct Split {
  Expression e, f;
};
Split SplitByTwo(Expression x) {
  const bool is_double = x.IsDouble();
  const Expression bits = x.Bits();
  const int mantissa = is_double ? 52 : 23;
  const Expression root_of_half =
      is_double ? bits.Integer(0x3fe6a09e667f3bcd) : bits.Integer(0x3f3504f3);
  const Expression e = (bits - root_of_half) >> mantissa;
  const Expression m = (bits - (e << mantissa)).AsNumber(x);
  return {e.ToNumber(x), m - 1};
}

// log(1 + f) in f64, with a relative error of 2^-38.
Expression LogOfSum(Expression f) {
  const Expression p = f.Polynomial(
      {0.33333333399244286, -0.250000011269613, 0.1999998925245665, -0.1666653233777784,
       0.14286179360073548, -0.12505717543272474, 0.11105470833585607, -0.09889331339155091,
       0.09040142641865044, -0.09287188740300387, 0.09116210745826418, -0.0482274179129886});
  const Expression square = f * f;
  return f + (square * f).Fma(p, square * -0.5);
}

}  // namespace

Expression Log(Expression x) {
  const Expression is_denormal = x < 0x1p-126;
  const auto [e, f] = SplitByTwo(Select(is_denormal, x * 0x1p23, x));
  const Expression exponent = Select(is_denormal, e - 23, e);
  const Expression p =
      f.Polynomial({0.3333331346511841, -0.25000008940696716, 0.20002120733261108,
                    -0.1666799634695053, 0.1421952247619629, -0.12405544519424438,
                    0.11888360977172852, -0.11676040291786194, 0.06746659427881241});
  const double high = static_cast<double>(static_cast<float>(kLn2));
  const Expression square = f * f;
  const Expression low = exponent.Fma(kLn2 - high, square * f * p);
  const Expression y = exponent.Fma(high, f + square.Fma(-0.5, low));
  const Expression special = Select(x == 0, -x.Infinity(), Select(x < 0, x.Nan(), x));
  return Select((x > 0) & (x < x.Infinity()), y, special);
}

// log(1 + x) = log(u) + what u lost of x, u being 1 + x as rounded in f64.
Expression Log1p(Expression x) {
  const Expression wide = x.ToDouble(), u = wide + 1;
  const auto [e, f] = SplitByTwo(u);
  const Expression lost = wide - (u - 1);
  const Expression y = e.Fma(kLn2, LogOfSum(f) + lost).ToFloat();
  const Expression special = Select(x == -1.0, -x.Infinity(), Select(x < -1.0, x.Nan(), x));
  return Select((x > -1.0) & (x < x.Infinity()) & !(x == 0), y, special);
}

// 2^(y · log2 |x|) in f64, and the cases of C's pow.
Expression Power(Expression x, Expression y) {
  const Expression a = x.Abs(), wide_y = y.ToDouble();
  const auto [e, f] = SplitByTwo(a.ToDouble());
  Expression log2 = LogOfSum(f).Fma(kLog2E, e);
  log2 = Select(a == 0, -log2.Infinity(), Select(a == a.Infinity(), log2.Infinity(), log2));
  Expression w = wide_y * log2;
  // 1 to any power, ±1 to an infinite one.
  w = Select(a == 1, w.Number(0), w);
  const auto [p, scale] = PartsOfExp(w.Clamped(-300, 300) * kLn2);
  Expression result = scale.Fma(p, scale).ToFloat();

  const Expression half = wide_y * 0.5;
  const Expression is_integer = wide_y.Floor() == wide_y;
  const Expression is_odd = is_integer & !(half.Floor() == half);
  const Expression is_negative = Select(is_odd, x, x.Number(1));
  result = result.WithSignOf(is_negative);
  const Expression has_no_root = (x < 0) & (a < a.Infinity()) & !is_integer;
  result = Select(has_no_root, x.Nan(), result);
  const Expression has_nan = !((x == x) & (y == y));
  result = Select(has_nan, x.Nan(), result);
  return Select((x == 1) | (y == 0), x.Number(1), result);
}

}  // namespace hloscope::codegen
