// Functions of f64 by their series. What a function is made of and the reductions are textbook
// (Muller, Elementary Functions, 3rd edition, chapters 9 to 11); coefficients are those of Taylor.
#include "core/codegen/math/inline_functions.h"

#include <llvm/IR/Module.h>

#include <array>
#include <cmath>
#include <numbers>

#include "core/codegen/math/control_flow.h"
#include "core/codegen/math/expression.h"
#include "core/codegen/math/symbols.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::codegen {

using hlo::Opcode;
using llvm::Value;

namespace {

constexpr double kLog2E = std::numbers::log2e;
constexpr double kLn2 = 0x1.62e42fefa39efp-1, kLn2Rest = 0x1.abc9e3b39803fp-56;
constexpr double kHalfPi = 0x1.921fb54442d18p+0, kHalfPiRest = 0x1.1a62633145c07p-54,
                 kHalfPiLast = -0x1.f1976b7ed8fbcp-110;

Expression Sqrt(Expression x) {
  return {x.builder(), Call(x.builder(), llvm::Intrinsic::sqrt, {x.value()})};
}
Expression Reciprocal(Expression x) { return x.Number(1) / x; }

// Σ c(n)·x^n for n below `terms`.
template <typename Coefficient>
Expression Series(Expression x, int terms, const Coefficient& c) {
  Expression sum = x.Number(c(terms - 1));
  for (int n = terms - 2; n >= 0; --n) sum = sum.Fma(x, c(n));
  return sum;
}
double Factorial(int n) { return std::tgamma(n + 1.0); }  // exact up to 22!

// A number as a sum of two.
struct Pair {
  Expression high, low;
};
Pair Sum(Expression x, Expression y) {  // |x| >= |y|
  const Expression high = x + y;
  return {high, y - (high - x)};
}

// ---- Exponentials.

// e^x = 2^n · (1 + p)
struct Powers {
  Expression p, n;  // n an integer
};
Powers PowersOf(Expression x, Expression rest) {
  constexpr double kMagic = 0x1.8p52;
  const Expression shifted = x.Fma(kLog2E, kMagic), n = shifted - kMagic;
  const Expression r = n.Fma(-kLn2Rest, n.Fma(-kLn2, x)) + rest;
  const Expression q = Series(r, 13, [](int k) { return 1 / Factorial(k + 2); });
  return {(r * r).Fma(q, r), shifted.Bits() - x.Number(kMagic).Bits()};
}
Expression TwoTo(Expression n, Expression like) { return ((n + 1023) << 52).AsNumber(like); }

Expression Exp(Expression x, Expression rest) {
  const auto [p, n] = PowersOf(x.Clamped(-746, 710), rest);
  const Expression half = n >> 1, y = p + 1;
  const Expression scaled = y * TwoTo(half, x) * TwoTo(n - half, x);
  return Select(x == -x.Infinity(), x.Number(0), scaled);
}
Expression Exp(Expression x) { return Exp(x, x.Number(0)); }

Expression Expm1(Expression x) {
  const auto [p, n] = PowersOf(x.Clamped(-60, 710), x.Number(0));
  const Expression half = TwoTo(n - 1, x);
  const Expression y = half.Fma(p, half - 0.5) * 2;
  return Select(x.Abs() < 0x1p-54, x, y);
}

// ---- Logarithms.

struct Split {
  Expression e, f;  // x = 2^e · (1 + f), 1 + f between the roots of 1/2 and 2
};
Split SplitByTwo(Expression x) {
  const Expression is_denormal = x < 0x1p-1022;
  const Expression bits = Select(is_denormal, x * 0x1p54, x).Bits();
  const Expression e = (bits - bits.Integer(0x3fe6a09e667f3bcd)) >> 52;
  const Expression f = (bits - (e << 52)).AsNumber(x) - 1;
  const Expression exponent = e.ToNumber(x);
  return {Select(is_denormal, exponent - 54, exponent), f};
}

// log(1 + f) = 2s + s³·Q(s²) where s = f / (2 + f), as a sum of two numbers.
Pair LogOfSum(Expression f) {
  const Expression bottom = f + 2, s = f / bottom;
  const Expression lost = f - (bottom - 2);
  const Expression left = (-s).Fma(bottom, f) - s * lost;
  const Expression z = s * s;
  const Expression q = Series(z, 13, [](int k) { return 2.0 / (2 * k + 3); });
  return Sum(s * 2, (s * z).Fma(q, left / bottom * 2));
}

// As a sum of two numbers, of positive finite ones.
Pair LogPair(Expression x, Expression lost) {
  const auto [e, f] = SplitByTwo(x);
  const auto [high, low] = LogOfSum(f);
  const Expression is_power = e == 0;
  const Pair scaled = Sum(e * kLn2, high);
  const Expression rest = e.Fma(kLn2, -(e * kLn2)) + e * kLn2Rest;
  return {Select(is_power, high, scaled.high),
          Select(is_power, low, scaled.low + low + rest) + lost};
}

Expression LogSpecial(Expression x, Expression y, double zero) {
  const Expression special = Select(x == zero, -x.Infinity(), Select(x < zero, x.Nan(), x));
  return Select((x > zero) & (x < x.Infinity()), y, special);
}
Expression Log(Expression x) {
  const auto [high, low] = LogPair(x, x.Number(0));
  return LogSpecial(x, high + low, 0);
}
Expression Log1p(Expression x) {
  const Expression u = x + 1;
  const Expression lost = (x - (u - 1)) / u;
  const auto [high, low] = LogPair(u, lost);
  return Select(x.Abs() < 0x1p-54, x, LogSpecial(x, high + low, -1));
}

// ---- Circular functions.

struct Turns {
  Expression high, low;  // the angle that is left, at most π/4 about
  Expression quarters;   // an integer
};

Turns TurnsOfSmall(Expression x) {
  constexpr double kMagic = 0x1.8p52;
  const Expression shifted = x.Fma(2 / std::numbers::pi, kMagic), n = shifted - kMagic;
  const Expression first = n.Fma(-kHalfPi, x);
  const Expression high = n.Fma(-kHalfPiRest, first);
  const Expression low = n.Fma(-kHalfPiRest, first - high) - n * kHalfPiLast;
  return {high, low, shifted.Bits()};
}

// 2/π to 1,280 bits, behind 64 of zeros.
constexpr std::array<uint64_t, 21> kTwoOverPi = {0,
                                                 0xa2f9836e4e441529,
                                                 0xfc2757d1f534ddc0,
                                                 0xdb6295993c439041,
                                                 0xfe5163abdebbc561,
                                                 0xb7246e3a424dd2e0,
                                                 0x06492eea09d1921c,
                                                 0xfe1deb1cb129a73e,
                                                 0xe88235f52ebb4484,
                                                 0xe99c7026b45f7e41,
                                                 0x3991d639835339f4,
                                                 0x9c845f8bbdf9283b,
                                                 0x1ff897ffde05980f,
                                                 0xef2f118b5a0a6d1f,
                                                 0x6d367ecf27cb09b7,
                                                 0x4f463f669e5fea2d,
                                                 0x7527bac7ebe5f17b,
                                                 0x3d0739f78a5292ea,
                                                 0x6bfb5fb11f8d5d08,
                                                 0x56033046fc7b6bab,
                                                 0xf0cfbc209af4361d};

// x = m · 2^e with an integer m: m times those 192 bits of 2/π whose product is below 4 quarters
// and has more than 130 bits behind the point (Payne and Hanek 1983).
Turns TurnsOfLarge(Expression x) {
  Builder& b = x.builder();
  llvm::Type* word = b.getInt64Ty();
  const auto number = [&](uint64_t n) { return b.getInt64(n); };
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  constexpr const char* kName = "two_over_pi";
  llvm::GlobalVariable* table = module.getGlobalVariable(kName, true);
  if (table == nullptr) {
    llvm::Constant* bits = llvm::ConstantDataArray::get(b.getContext(), kTwoOverPi);
    table = new llvm::GlobalVariable(module, bits->getType(), true,
                                     llvm::GlobalValue::InternalLinkage, bits, kName);
    table->setAlignment(llvm::Align(8));
  }
  Value* bits = x.Bits().value();
  Value* exponent = b.CreateAnd(b.CreateLShr(bits, 52), 0x7ff);
  // Of infinities and NaN any: their results are NaN. Below 2^20 nobody asks.
  exponent = Call(b, llvm::Intrinsic::umax, {exponent, number(1023)});
  exponent = Call(b, llvm::Intrinsic::umin, {exponent, number(2046)});
  Value* m =
      b.CreateOr(b.CreateAnd(bits, number((uint64_t{1} << 52) - 1)), number(uint64_t{1} << 52));
  Value* first = b.CreateAdd(b.CreateSub(exponent, number(1023 + 52)), number(62));
  Value* at = b.CreateLShr(first, 6);
  Value* shift = b.CreateAnd(first, 63);
  std::array<Value*, 4> words;
  for (uint64_t i = 0; i < words.size(); ++i) {
    words[i] = b.CreateAlignedLoad(word, b.CreateGEP(word, table, b.CreateAdd(at, number(i))),
                                   llvm::Align(8));
  }
  const auto funnel = [&](Value* high, Value* low, Value* by) {
    return Call(b, llvm::Intrinsic::fshl, {high, low, by});
  };
  const auto times = [&](size_t i) {
    Value* wide = b.CreateMul(b.CreateZExt(m, b.getInt128Ty()),
                              b.CreateZExt(funnel(words[i], words[i + 1], shift), b.getInt128Ty()));
    return std::pair(b.CreateTrunc(b.CreateLShr(wide, 64), word), b.CreateTrunc(wide, word));
  };
  const auto [high1, low1] = times(1);
  Value* middle = b.CreateAdd(low1, times(2).first);
  Value* carry = b.CreateZExt(b.CreateICmpULT(middle, low1), word);
  Value* top = b.CreateAdd(b.CreateAdd(times(0).second, high1), carry);
  Value* fraction = funnel(top, middle, number(2));  // of a quarter, to nearest: signed
  Value* behind = b.CreateShl(middle, 2);
  Value* quarters = b.CreateAdd(b.CreateLShr(top, 62), b.CreateLShr(fraction, 63));
  const Expression high = Expression(b, fraction).ToNumber(x);
  Value* rest = b.CreateSub(fraction, b.CreateFPToSI(high.value(), word));
  const Expression low = Expression(b, rest).ToNumber(x) +
                         Expression(b, b.CreateUIToFP(behind, b.getDoubleTy())) * 0x1p-64;
  const auto [f, g] = Sum(high, low);
  const Expression scaled = f * 0x1p-64;
  const Expression angle = scaled * kHalfPi;
  const Expression lost =
      scaled.Fma(kHalfPi, -angle) + scaled * kHalfPiRest + g * 0x1p-64 * kHalfPi;
  // Of -x the turns are the other way round.
  const Expression is_negative = x < 0;
  return {Select(is_negative, -angle, angle), Select(is_negative, -lost, lost),
          Select(is_negative, Expression(b, b.CreateNeg(quarters)), Expression(b, quarters))};
}

Value* IsLarge(Expression x) { return (x.Abs() > 0x1p20).value(); }

Turns TurnsOf(Expression x) {
  Builder& b = x.builder();
  const Turns small = TurnsOfSmall(x);
  if (!WritesForGpu(b)) return small;
  const auto values =
      Where(b, IsLarge(x), {small.high.value(), small.low.value(), small.quarters.value()}, [&] {
        const Turns large = TurnsOfLarge(x);
        return std::vector{large.high.value(), large.low.value(), large.quarters.value()};
      });
  return {{b, values[0]}, {b, values[1]}, {b, values[2]}};
}

struct Circle {
  Expression sine, cosine;
};
Circle CircleOf(const Turns& turns) {
  const Expression r = turns.high, low = turns.low, z = r * r, half = z * 0.5;
  const Expression s =
      Series(z, 8, [](int k) { return (k % 2 == 0 ? -1 : 1) / Factorial(2 * k + 3); });
  const Expression c =
      Series(z, 8, [](int k) { return (k % 2 == 0 ? 1 : -1) / Factorial(2 * k + 4); });
  const Expression sine = r + (r * z).Fma(s, low - low * half);
  const Expression w = -half + 1;
  const Expression cosine = w + (((-w + 1) - half) + (z * z).Fma(c, -(r * low)));
  return {sine, cosine};
}
Expression NanOfInfinite(Expression x, Expression y) {
  return Select(x.Abs() < x.Infinity(), y, x.Nan());
}
// On a CPU the runtime's function of numbers that are too large to be reduced in f64.
Expression WithRuntimeFallback(Expression x, Opcode opcode, Expression y) {
  Builder& b = x.builder();
  if (WritesForGpu(b)) return y;
  Value* operands[] = {x.value()};
  return {b, Where(b, IsLarge(x), {y.value()},
                   [&] { return std::vector{CallByLane(b, opcode, operands)}; })[0]};
}
// The sine of an angle and so many quarters more.
Expression Turned(Expression x, int quarters) {
  const Turns turns = TurnsOf(x);
  const Circle circle = CircleOf(turns);
  const Expression at = turns.quarters + quarters;
  const Expression y = Select((at & at.Integer(1)).IsZero(), circle.sine, circle.cosine);
  return NanOfInfinite(x, Select((at & at.Integer(2)).IsZero(), y, -y));
}
Expression Sin(Expression x) {
  return WithRuntimeFallback(x, Opcode::kSin, Select(x.Abs() < 0x1p-27, x, Turned(x, 0)));
}
Expression Cos(Expression x) { return WithRuntimeFallback(x, Opcode::kCos, Turned(x, 1)); }
Expression Tan(Expression x) {
  const Turns turns = TurnsOf(x);
  const auto [sine, cosine] = CircleOf(turns);
  const Expression is_even = (turns.quarters & turns.quarters.Integer(1)).IsZero();
  const Expression y = Select(is_even, sine, -cosine) / Select(is_even, cosine, sine);
  return WithRuntimeFallback(x, Opcode::kTan, NanOfInfinite(x, Select(x.Abs() < 0x1p-27, x, y)));
}

// ---- Their inverses.

// Of a number in [0, 1] that is a sum of two.
Expression AtanOfFraction(Expression a, Expression low) {
  constexpr double kQuarter = kHalfPi / 2, kQuarterRest = kHalfPiRest / 2;
  const Expression is_far = a > 0.4142135623730950;
  const Expression t = Select(is_far, (a - 1) / (a + 1), a);
  // atan' = 1 / (1 + a²)
  const Expression moved = low / a.Fma(a, a.Number(1));
  const Expression z = t * t;
  const Expression q = Series(z, 23, [](int k) { return (k % 2 == 0 ? -1.0 : 1.0) / (2 * k + 3); });
  const Expression y = (t * z).Fma(q, Select(is_far, a.Number(kQuarterRest), a.Number(0)) + moved);
  return Select(is_far, (y + t) + kQuarter, t + y);
}
Expression IsNegative(Expression x) {
  Builder& b = x.builder();
  Value* bits = x.Bits().value();
  return {b, b.CreateICmpSLT(bits, llvm::Constant::getNullValue(bits->getType()))};
}
// C's atan2, with infinities, zeros and their signs.
Expression Atan2(Expression y, Expression x) {
  const Expression u = y.Abs(), v = x.Abs();
  const Expression is_steep = v < u;
  const Expression most = Select(is_steep, u, v), least = Select(is_steep, v, u);
  // Scaled so that the quotient's rest is no denormal.
  const Expression down = Select(most > 0x1p500, x.Number(0x1p-500), x.Number(1));
  const Expression scale = Select(most < 0x1p-500, x.Number(0x1p500), down);
  const Expression top = least * scale, bottom = most * scale;
  Expression a = top / bottom;
  Expression low = (-a).Fma(bottom, top) / bottom;
  const Expression are_infinite = least == x.Infinity(), are_zero = most == 0;
  const Expression is_exact = are_infinite | are_zero | (most == x.Infinity());
  a = Select(are_infinite, x.Number(1), Select(are_zero, x.Number(0), a));
  low = Select(is_exact, x.Number(0), low);
  Expression angle = AtanOfFraction(a, low);
  angle = Select(is_steep, (-angle + kHalfPiRest) + kHalfPi, angle);
  angle = Select(IsNegative(x), (-angle + 2 * kHalfPiRest) + 2 * kHalfPi, angle);
  const Expression has_nan = !((x == x) & (y == y));
  return Select(has_nan, x.Nan(), angle.WithSignOf(y));
}
Expression Atan(Expression x) { return Select(x.Abs() < 0x1p-27, x, Atan2(x, x.Number(1))); }
Expression Asin(Expression x) {
  return Select(x.Abs() < 0x1p-27, x, Atan2(x, Sqrt((-x + 1) * (x + 1))));
}
Expression Acos(Expression x) { return Atan2(Sqrt(-x + 1), Sqrt(x + 1)) * 2; }

// ---- Hyperbolic functions and their inverses.

Expression Sinh(Expression x) {
  const Expression a = x.Abs(), t = Expm1(a), root = Exp(a * 0.5);
  const Expression y = Select(a < 22, (t + t / (t + 1)) * 0.5, root * 0.5 * root);
  return Select(a < 0x1p-27, x, y.WithSignOf(x));
}
Expression Cosh(Expression x) {
  const Expression a = x.Abs(), t = Exp(a), root = Exp(a * 0.5);
  return Select(a < 22, (t + Reciprocal(t)) * 0.5, root * 0.5 * root);
}
// t / (t + 2) where t = e^2|x| - 1, with what the sum and the quotient lost.
Expression Tanh(Expression x) {
  const Expression t = Expm1(x.Abs().Clamped(0, 40) * 2);
  const Expression bottom = t + 2, inverse = Reciprocal(bottom), y = t * inverse;
  const Expression lost = (-y).Fma(bottom, t) - y * (t - (bottom - 2));
  return Select(x.Abs() < 0x1p-27, x, lost.Fma(inverse, y).WithSignOf(x));
}
Expression Asinh(Expression x) {
  const Expression a = x.Abs(), square = a * a;
  const Expression near = Log1p(a + square / (Sqrt(square + 1) + 1));
  const Expression y = Select(a > 0x1p28, Log(a) + kLn2, near);
  return Select(a < 0x1p-27, x, y.WithSignOf(x));
}
Expression Acosh(Expression x) {
  const Expression t = x - 1;
  const Expression y = Select(x > 0x1p28, Log(x) + kLn2, Log1p(t + Sqrt(t * 2 + t * t)));
  return Select(x < 1, x.Nan(), y);
}
Expression Atanh(Expression x) {
  const Expression a = x.Abs();
  const Expression y = Log1p(a * 2 / (-a + 1)) * 0.5;
  return Select(a < 0x1p-27, x, y.WithSignOf(x));
}

// ---- Others.

Expression Cbrt(Expression x) {
  const Expression is_small = x.Abs() < 0x1p-900;
  const Expression a = Select(is_small, x.Abs() * 0x1p300, x.Abs());
  const auto [high, low] = LogPair(a, x.Number(0));
  const Expression guess = Exp((high + low) * (1.0 / 3));
  // One step of Newton's method; the square of the guess is a sum of two.
  const Expression square = guess * guess, rest = guess.Fma(guess, -square);
  const Expression cube = square * guess, lost = square.Fma(guess, -cube) + rest * guess;
  const Expression y = guess - ((cube - a) + lost) / (square * 3);
  const Expression is_usual = (a > 0) & (a < x.Infinity());
  return Select(is_usual, Select(is_small, y * 0x1p-100, y).WithSignOf(x), x);
}

// Below 2 the series of e^-x², all of whose terms are positive; above 1 - erfc by a continued
// fraction, which is small.
Expression Erf(Expression x) {
  const Expression a = x.Abs().Clamped(0, 6.5), z = a * a, decay = Exp(-z, -a.Fma(a, -z));
  long double odd[60] = {1};
  for (int n = 1; n < 60; ++n) odd[n] = odd[n - 1] * 2 / (2 * n + 1);
  const Expression inner = Series(z, 60, [&](int n) { return static_cast<double>(odd[n]); });
  const Expression near = a * inner * decay * 0x1.20dd750429b6dp+0;
  Expression fraction = a;
  for (int k = 40; k > 0; --k) fraction = a + x.Number(k * 0.5) / fraction;
  const Expression far = -(decay / fraction * 0x1.20dd750429b6dp-1) + 1;
  const Expression y = Select(a < 2, near, far).WithSignOf(x);
  return Select(x == x, Select(x == 0, x, y), x);
}

Expression Logistic(Expression x) { return Reciprocal(Exp(-x) + 1); }

// Of numbers that were of f32, whose squares leave nothing out.
Expression HypotOfSingle(Expression x, Expression y) {
  const Expression u = x.Abs(), v = y.Abs(), is_more = v < u;
  const Expression most = Select(is_more, u, v), least = Select(is_more, v, u);
  const Expression is_infinite = (u == x.Infinity()) | (v == x.Infinity());
  return Select(is_infinite, x.Infinity(), Sqrt(most.Fma(most, least * least)));
}

Expression Hypot(Expression x, Expression y) {
  const Expression u = x.Abs(), v = y.Abs(), is_more = v < u;
  const Expression most = Select(is_more, u, v), least = Select(is_more, v, u);
  const auto choose = [&](double tiny, double huge) {
    const Expression up = Select(most < 0x1p-500, x.Number(tiny), x.Number(1));
    return Select(most > 0x1p500, x.Number(huge), up);
  };
  const Expression scale = choose(0x1p600, 0x1p-600);
  const Expression a = most * scale, c = least * scale;
  const Expression length = Sqrt(a.Fma(a, c * c)) * choose(0x1p-600, 0x1p600);
  const Expression is_infinite = (u == x.Infinity()) | (v == x.Infinity());
  return Select(is_infinite, x.Infinity(), Select((x == x) & (y == y), length, x.Nan()));
}

// e^(y · log |x|), and the cases of C's pow.
Expression Power(Expression x, Expression y) {
  const Expression a = x.Abs();
  const auto [high, low] = LogPair(a, x.Number(0));
  const Expression bounded = y.Clamped(-0x1p70, 0x1p70);  // so that nothing is infinite
  const Expression w = bounded * high;
  const Expression rest = bounded.Fma(high, -w) + bounded * low;
  const Expression is_usual = w.Abs() < 1000;
  Expression result = Exp(w, Select(is_usual, rest, x.Number(0)));
  const Expression is_rising = (y > 0);
  result = Select(a == 0, Select(is_rising, x.Number(0), x.Infinity()), result);
  result = Select(a == x.Infinity(), Select(is_rising, x.Infinity(), x.Number(0)), result);
  result = Select(a == 1, x.Number(1), result);
  const Expression half = y * 0.5;
  const Expression is_integer = y.Floor() == y;
  const Expression is_odd = is_integer & !(half.Floor() == half);
  result = result.WithSignOf(Select(is_odd, x, x.Number(1)));
  const Expression has_no_root = (x < 0) & (a < x.Infinity()) & !is_integer;
  result = Select(has_no_root, x.Nan(), result);
  result = Select((x == x) & (y == y), result, x.Nan());
  return Select((x == 1) | (y == 0), x.Number(1), result);
}

constexpr hlo::OpcodeTable<Expression (*)(Expression x)> kUnary = {
    {Opcode::kAcos, Acos},   {Opcode::kAcosh, Acosh}, {Opcode::kAsin, Asin},
    {Opcode::kAsinh, Asinh}, {Opcode::kAtan, Atan},   {Opcode::kAtanh, Atanh},
    {Opcode::kCbrt, Cbrt},   {Opcode::kCos, Cos},     {Opcode::kCosh, Cosh},
    {Opcode::kErf, Erf},     {Opcode::kExp, Exp},     {Opcode::kExpm1, Expm1},
    {Opcode::kLog, Log},     {Opcode::kLog1p, Log1p}, {Opcode::kLogistic, Logistic},
    {Opcode::kSin, Sin},     {Opcode::kSinh, Sinh},   {Opcode::kTan, Tan},
    {Opcode::kTanh, Tanh},
};
constexpr hlo::OpcodeTable<Expression (*)(Expression x, Expression y)> kBinary = {
    {Opcode::kAbs, Hypot},
    {Opcode::kAtan2, Atan2},
    {Opcode::kPower, Power},
};

}  // namespace

llvm::Value* DeviceInstruction(Builder& b, llvm::Intrinsic::ID id, Value* x) {
  llvm::CallInst* call = b.CreateIntrinsic(id, {}, {x});
  call->addFnAttr(llvm::Attribute::WillReturn);
  call->setDoesNotThrow();
  return call;
}

bool WritesForGpu(const Builder& b) {
  return llvm::StringRef(b.GetInsertBlock()->getModule()->getTargetTriple()).starts_with("nvptx");
}

Value* InlineFunction(Builder& b, Opcode opcode, std::span<Value* const> operands) {
  const llvm::Type* type = operands[0]->getType()->getScalarType();
  const bool is_single = type->isFloatTy();
  if (!is_single && !type->isDoubleTy()) return nullptr;
  std::vector<Expression> in;
  for (Value* operand : operands) {
    const Expression x(b, operand);
    in.push_back(is_single ? x.ToDouble() : x);
  }
  const auto out = [&](Expression y) { return (is_single ? y.ToFloat() : y).value(); };
  if (opcode == Opcode::kRemainder)
    return out({b, FloatRemainder(b, in[0].value(), in[1].value())});
  if (in.size() == 1) {
    const auto unary = kUnary[opcode];
    return unary == nullptr ? nullptr : out(unary(in[0]));
  }
  if (is_single && opcode == Opcode::kAbs) return out(HypotOfSingle(in[0], in[1]));
  const auto binary = in.size() == 2 ? kBinary[opcode] : nullptr;
  return binary == nullptr ? nullptr : out(binary(in[0], in[1]));
}

}  // namespace hloscope::codegen
