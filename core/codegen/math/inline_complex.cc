// By the functions of their parts. What a function is made of is textbook, and for the inverse ones
// Kahan's (Branch Cuts for Complex Elementary Functions, 1987);
// core/base/complex/complex_functions.h has the same identities.
#include "core/codegen/math/inline_complex.h"

#include <limits>
#include <numbers>
#include <optional>
#include <vector>

#include "core/codegen/math/control_flow.h"
#include "core/codegen/math/expression.h"
#include "core/codegen/math/inline_functions.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::codegen {

using hlo::ElementType;
using hlo::Opcode;
using llvm::Value;

namespace {

struct Pair {
  Expression x, y;
};

Expression Of(Opcode opcode, Expression x) {
  Value* operands[] = {x.value()};
  return {x.builder(), InlineFunction(x.builder(), opcode, operands)};
}
Expression Of(Opcode opcode, Expression x, Expression y) {
  Value* operands[] = {x.value(), y.value()};
  return {x.builder(), InlineFunction(x.builder(), opcode, operands)};
}
Expression Exp(Expression x) { return Of(Opcode::kExp, x); }
Expression Sin(Expression x) { return Of(Opcode::kSin, x); }
Expression Cos(Expression x) { return Of(Opcode::kCos, x); }
Expression Sinh(Expression x) { return Of(Opcode::kSinh, x); }
Expression Cosh(Expression x) { return Of(Opcode::kCosh, x); }
Expression Atan2(Expression y, Expression x) { return Of(Opcode::kAtan2, y, x); }
Expression Size(Pair z) { return Of(Opcode::kAbs, z.x, z.y); }
Expression Root(Expression x) {
  return {x.builder(), Call(x.builder(), llvm::Intrinsic::sqrt, {x.value()})};
}
Expression IsFinite(Expression x) { return x.Abs() < x.Infinity(); }
Expression IsNan(Expression x) { return !(x == x); }

Pair Choose(Expression which, Pair yes, Pair no) {
  return {Select(which, yes.x, no.x), Select(which, yes.y, no.y)};
}
// `usual`, or where the condition holds what `rare` makes, which is not computed where it nowhere
// does.
template <typename Rare>
Pair Where(Expression condition, Pair usual, const Rare& rare) {
  Builder& b = usual.x.builder();
  const auto values = codegen::Where(b, condition.value(), {usual.x.value(), usual.y.value()}, [&] {
    const Pair made = rare();
    return std::vector{made.x.value(), made.y.value()};
  });
  return {{b, values[0]}, {b, values[1]}};
}
Pair Number(Pair like, double x) { return {like.x.Number(x), like.x.Number(0)}; }
Pair operator+(Pair z, Pair w) { return {z.x + w.x, z.y + w.y}; }
Pair operator*(Pair z, Expression s) { return {z.x * s, z.y * s}; }
// a·b - c·d with what the second product loses taken back, but for the sign of a zero and for what
// is not finite.
Expression Less(Expression a, Expression b, Expression c, Expression d) {
  const Expression product = c * d, plain = a * b - product;
  const Expression difference = a.Fma(b, -product) + (-c).Fma(d, product);
  const Expression close =
      Select(plain == 0, Select(difference == 0, plain, difference), difference);
  return Select(IsFinite(plain), close, plain);
}
Pair operator*(Pair z, Pair w) { return {Less(z.x, w.x, z.y, w.y), Less(z.x, w.y, -z.y, w.x)}; }
// A zero stays one, whatever the other side is.
Expression ZeroTimes(Expression zero, Expression x) { return Select(zero == 0, zero, zero * x); }
// A zero on either side stays one.
Expression EitherZero(Expression x, Expression y) {
  const Expression one = x.Number(1);
  return Select(x == 0, x * one.WithSignOf(y), Select(y == 0, y * one.WithSignOf(x), x * y));
}
// sinh x or cosh x, times a cosine: infinite with x, whatever the angle is (Annex G of C).
Expression Turned(Expression x, Expression grown, Expression cosine) {
  const Expression infinity = x.Infinity();
  return Select((x.Abs() == infinity) & IsNan(cosine), infinity, ZeroTimes(grown, cosine));
}

// ---- Products and quotients.

Expression IsInfinite(Pair p) {
  return (p.x.Abs() == p.x.Infinity()) | (p.y.Abs() == p.y.Infinity());
}
// One for each part that is infinite, zero for the others, with their signs.
Pair Infinities(Pair p) {
  const auto flag = [](Expression x) {
    return Select(x.Abs() == x.Infinity(), x.Number(1), x.Number(0)).WithSignOf(x);
  };
  return {flag(p.x), flag(p.y)};
}

// z * w, infinite where one of them is (Annex G of C).
Pair Product(Pair z, Pair w) {
  const Pair usual = z * w;
  const auto part = [](Expression x) { return Select(IsNan(x), x.Number(0).WithSignOf(x), x); };
  const auto numbers = [&](Pair p) {
    return Choose(IsInfinite(p), Infinities(p), {part(p.x), part(p.y)});
  };
  const Pair f = numbers(z), g = numbers(w);
  const Expression infinity = z.x.Infinity();
  return Choose(IsNan(usual.x) & IsNan(usual.y) & (IsInfinite(z) | IsInfinite(w)),
                {infinity * (f.x * g.x - f.y * g.y), infinity * (f.x * g.y + f.y * g.x)}, usual);
}

Pair Quotient(Pair z, Pair w) {
  const auto larger_of = [](Pair p) { return Select(p.y.Abs() < p.x.Abs(), p.x.Abs(), p.y.Abs()); };
  const Expression larger = larger_of(w), of_z = larger_of(z);
  const Expression one = larger.Number(1), up = larger.Number(0x1p200);
  // Numbers near both ends are taken away from them by powers of two, which are given back last.
  const Expression lift = Select(larger < 0x1p-900, up, one);
  const auto by_size_of_z = [&](double tiny, double huge) {
    return Select(of_z < 0x1p-900, larger.Number(tiny),
                  Select(of_z > 0x1p1018, larger.Number(huge), one));
  };
  const Expression z_lift = by_size_of_z(0x1p200, 0x1p-5);
  const Pair from = z * z_lift;
  // Divided by a power of two near the larger part of the divisor, so that no square is lost.
  const Expression bits = (larger * lift).Bits();
  const Expression scale = (bits & bits.Integer(0x7fe0000000000000)).AsNumber(larger);
  const Expression inverse = one / scale;
  const Pair v = w * lift * inverse;
  const Expression size = v.x.Fma(v.x, v.y * v.y), back = lift * by_size_of_z(0x1p-200, 0x1p5);
  const Pair usual{Less(from.x, v.x, -from.y, v.y) / size * inverse * back,
                   Less(from.y, v.x, from.x, v.y) / size * inverse * back};
  // Annex G of C, where nothing else is known: by zero; of something infinite; by something
  // infinite.
  const Expression is_zero = (w.x == 0) & (w.y == 0);
  const Expression infinity = larger.Infinity().WithSignOf(w.x);
  Pair out = Choose(is_zero & !(IsNan(z.x) & IsNan(z.y)), {infinity * z.x, infinity * z.y}, usual);
  const auto is_finite = [](Pair p) { return IsFinite(p.x) & IsFinite(p.y); };
  const Pair f = Infinities(z), g = Infinities(w);
  const Expression endless = larger.Infinity();
  out = Choose(IsInfinite(z) & is_finite(w) & !is_zero,
               {endless * (f.x * w.x + f.y * w.y), endless * (f.y * w.x - f.x * w.y)}, out);
  const Expression zero = larger.Number(0);
  out = Choose(IsInfinite(w) & is_finite(z),
               {zero * (z.x * g.x + z.y * g.y), zero * (z.y * g.x - z.x * g.y)}, out);
  return Choose(IsNan(usual.x) & IsNan(usual.y), out, usual);
}

// ---- Roots, exponentials, logarithms.

// A power of two that takes huge and tiny numbers to where nothing is lost, its root and logarithm.
struct Lift {
  Expression scale, root, log;
};
Lift LiftOf(Pair z) {
  const Expression larger = Select(z.y.Abs() < z.x.Abs(), z.x.Abs(), z.y.Abs());
  const auto choose = [&](double up, double down, double same) {
    return Select(larger < 0x1p-900, larger.Number(up),
                  Select(larger > 0x1p1000, larger.Number(down), larger.Number(same)));
  };
  return {choose(0x1p400, 0x1p-200, 1), choose(0x1p200, 0x1p-100, 1),
          choose(400 * std::numbers::ln2, -200 * std::numbers::ln2, 0)};
}

Pair Sqrt(Pair z) {
  const Lift lift = LiftOf(z);
  const Pair near = z * lift.scale;
  const Expression half = near.x.Abs() * 0.5, t = Root(half + Size(near) * 0.5);
  const Expression other = near.y / (t * 2);
  Pair out = Choose(z.x < 0, {other.Abs(), t.WithSignOf(z.y)}, {t, other});
  out = out * (t.Number(1) / lift.root);
  out = Choose((z.x == 0) & (z.y == 0), {z.x.Number(0), z.y}, out);
  const Expression infinity = z.x.Infinity();
  const Expression zero = z.x.Number(0);
  out = Choose((z.x == infinity) & IsFinite(z.y), {infinity, zero.WithSignOf(z.y)}, out);
  out = Choose((z.x == -infinity) & IsFinite(z.y), {zero, infinity.WithSignOf(z.y)}, out);
  return Choose(z.y.Abs() == infinity, {infinity, z.y}, out);
}

Pair Rsqrt(Pair z) {
  const Lift lift = LiftOf(z);
  const Pair near = z * lift.scale, root = Sqrt(near);
  const Expression size = Size(near);
  return Choose((size == 0) | !IsFinite(size), Quotient(Number(z, 1), root),
                Pair{root.x / size, -root.y / size} * lift.root);
}

Pair Exp(Pair z) {
  const Expression half = Exp(z.x * 0.5), zero = z.x.Number(0);
  Pair out{half * Cos(z.y) * half, ZeroTimes(Sin(z.y), half) * half};
  out.y = Select(z.y == 0, z.y, out.y);
  const Expression infinity = z.x.Infinity();
  out = Choose((z.x == -infinity) & !IsFinite(z.y), {zero, zero}, out);
  return Choose((z.x == infinity) & !IsFinite(z.y), {infinity, z.x.Nan()}, out);
}

Expression LogOfSize(Pair z) {
  const Lift lift = LiftOf(z);
  return Of(Opcode::kLog, Size(z * lift.scale)) - lift.log;
}
// The logarithm of the size of z, that of 1 + x + iy: near 1 by that of its square, whose distance
// from 1 is x(x + 2) + y², with what the sums and products lose.
Expression LogNearOne(Pair z, Expression x, Expression y) {
  const Expression size = Size(z);
  const Expression more = x + 2, left = x - (more - 2);
  const Expression first = x * more, second = y * y, sum = first + second;
  const Expression other = sum - first;
  const Expression lost = (first - (sum - other)) + (second - other) +
                          (x.Fma(more, -first) + x * left) + y.Fma(y, -second);
  return Select((size > 0.5) & (size < 2), Of(Opcode::kLog1p, sum + lost) * 0.5, LogOfSize(z));
}
Pair Log(Pair z) {
  const Expression is_wide = z.y.Abs() < z.x.Abs();
  const Expression a = Select(is_wide, z.x, z.y).Abs(), b = Select(is_wide, z.y, z.x);
  return {LogNearOne(z, a - 1, b), Atan2(z.y, z.x)};
}

Pair Log1p(Pair z) {
  const Pair moved{z.x + 1, z.y};
  return Choose((z.x == 0) & (z.y == 0), z, {LogNearOne(moved, z.x, z.y), Atan2(z.y, moved.x)});
}

// A function, and where more of it is lost than can be told: those numbers are somebody else's.
struct Judged {
  Pair value;
  Expression is_lost;
};
// What of a difference cancels away: more than six bits of the part that is taken away.
Expression Cancels(Expression difference, Expression part) {
  return difference.Abs() * 64 < part.Abs();
}

Judged Expm1(Pair z) {
  const Pair e = Exp(z);
  const Expression sine = Sin(z.y * 0.5), turned = sine * sine * 2;
  const Expression near = Of(Opcode::kExpm1, z.x) * Cos(z.y) - turned;
  return {{Select(IsFinite(z.y) & IsFinite(e.x), near, e.x - 1), e.y}, Cancels(near, turned)};
}

Judged Logistic(Pair z) {
  const Expression sine = Sin(z.y * 0.5), cosine = Cos(z.y * 0.5), half = Sinh(z.x * 0.5);
  const Expression size = half.Fma(half, cosine * cosine), turned = cosine * cosine * 2;
  const Expression sum = Of(Opcode::kExpm1, z.x) + turned;
  Pair out{sum / (size * 4), sine * cosine / (size * 2)};
  out = Choose(z.x > 100, {z.x.Number(1), sine * cosine * 2 * Exp(-z.x)}, out);
  const Expression small = Exp(z.x);
  return {Choose(z.x < -100, {Cos(z.y) * small, sine * cosine * 2 * small}, out),
          Cancels(sum, turned)};
}

Pair Sign(Pair z) {
  const Pair near = z * LiftOf(z).scale;
  const Expression size = Size(near);
  return Choose(size == 0, Number(z, 0), {near.x / size, near.y / size});
}

// What w log z is off by is what the angle is off by, so a large one has no bits left; a part that
// is next to nothing, as of whole powers of negative numbers, neither.
Judged Power(Pair z, Pair w) {
  const Pair log = Log(z), product = Product(w, log), usual = Exp(product);
  const Expression terms =
      (w.x * log.x).Abs() + (w.y * log.y).Abs() + (w.x * log.y).Abs() + (w.y * log.x).Abs();
  const Expression nothing = Size(usual) * 0x1p-12;
  const Expression is_turned = (usual.x.Abs() < nothing) | (usual.y.Abs() < nothing);
  const Expression is_long = !(terms < 600);
  const Expression is_lost = is_long | (is_turned & !(product.y == 0));
  const Expression of_zero = Of(Opcode::kPower, z.x.Number(0), w.x);
  const Expression is_real = (z.y == 0) & (w.y == 0);
  Pair out = Choose(is_real & (z.x == 0), {of_zero, z.x.Number(0)}, usual);
  const Expression is_of_infinity = is_real & (z.x == z.x.Infinity());
  out = Choose(is_of_infinity & (w.x > 0), z, out);
  out = Choose(is_of_infinity & (w.x < 0), Number(z, 0), out);
  const Expression is_of_one = (z.x == 1) & (z.y == 0), is_to_zero = (w.x == 0) & (w.y == 0);
  return {Choose(is_of_one | is_to_zero, Number(z, 1), out), is_lost};
}

// ---- Circular and hyperbolic functions.

// sinh x or cosh x, times a factor: where the first overflows, and the product need not.
Expression Grown(Expression x, Expression factor, bool is_sinh, Expression product) {
  const Expression size = x.Abs(), root = Exp(size * 0.5);
  const Expression far = (root * 0.5) * factor * root, signed_far = Select(x < 0, -far, far);
  return Select((size > 700) & IsFinite(x) & !(factor == 0), is_sinh ? signed_far : far, product);
}
// sinh(x + iy) and cosh(x + iy).
Pair SinhOf(Expression x, Expression y) {
  const Expression sine = Sin(y), cosine = Cos(y);
  return {Grown(x, cosine, true, Turned(x, Sinh(x), cosine)),
          Grown(x, sine, false, ZeroTimes(sine, Cosh(x)))};
}
Pair CoshOf(Expression x, Expression y) {
  const Expression sine = Sin(y), cosine = Cos(y);
  return {Grown(x, cosine, false, Turned(x, Cosh(x), cosine)),
          Grown(x, sine, true, EitherZero(Sinh(x), sine))};
}
Pair Sinh(Pair z) { return SinhOf(z.x, z.y); }
Pair Cosh(Pair z) { return CoshOf(z.x, z.y); }
Pair Sin(Pair z) {  // sinh(y + ix) with its parts exchanged
  const Pair out = SinhOf(z.y, z.x);
  return {out.y, out.x};
}
Pair Cos(Pair z) {  // cosh(y + ix), its imaginary part negated
  const Pair out = CoshOf(z.y, z.x);
  return {out.x, -out.y};
}
Pair Tanh(Pair z) {
  const Expression t = Of(Opcode::kTan, z.y), s = Sinh(z.x), beta = t.Fma(t, 1);
  const Expression bottom = beta.Fma(s * s, 1);
  const Pair usual{beta * Root(s.Fma(s, 1)) * s / bottom, t / bottom};
  Pair out = Where(z.x.Abs() > 20, usual, [&]() -> Pair {
    const Expression small = Exp(-z.x.Abs());
    return {z.x.Number(1).WithSignOf(z.x),
            Select(IsFinite(z.y), Sin(z.y) * Cos(z.y) * 4 * small * small, z.x.Number(0))};
  });
  out = Choose(IsFinite(z.x) & !IsFinite(z.y), {Select(z.x == 0, z.x, z.x.Nan()), z.x.Nan()}, out);
  return {out.x, Select(z.y == 0, z.y, out.y)};
}
Pair Tan(Pair z) {  // -i tanh(iz)
  const Pair out = Tanh({-z.y, z.x});
  return {out.y, -out.x};
}

// Far out, where squares would be lost: what log(2z) is there, and which numbers that are.
Expression IsFar(Pair z) { return Size(z) > 1e10; }
Expression LogTwice(Pair z) { return LogOfSize(z) + std::numbers::ln2; }

Pair Acos(Pair z) {
  const Pair u = Sqrt({z.x.Number(1) - z.x, -z.y}), v = Sqrt({z.x + 1, z.y});
  const Pair far{Atan2(z.y.Abs(), z.x), -LogTwice(z).WithSignOf(z.y)};
  const Pair out =
      Choose(IsFar(z), far, {Atan2(u.x, v.x) * 2, Of(Opcode::kAsinh, Less(v.x, u.y, v.y, u.x))});
  const Expression quarter = z.x.Number(std::numbers::pi / 2);
  return {Select((z.x == 0) & IsNan(z.y), quarter, out.x), out.y};
}
Pair Acosh(Pair z) {
  const Pair u = Sqrt({z.x - 1, z.y}), v = Sqrt({z.x + 1, z.y});
  const Pair out = Choose(IsFar(z), {LogTwice(z), Atan2(z.y, z.x)},
                          {Of(Opcode::kAsinh, Less(u.x, v.x, -u.y, v.y)), Atan2(u.y, v.x) * 2});
  const Expression quarter = z.x.Number(std::numbers::pi / 2);
  return {out.x, Select((z.x == 0) & IsNan(z.y), quarter, out.y)};
}
Pair Asin(Pair z) {
  const Pair u = Sqrt({z.x + 1, z.y}), v = Sqrt({z.x.Number(1) - z.x, -z.y});
  const Pair far{Atan2(z.x, z.y.Abs()), LogTwice(z).WithSignOf(z.y)};
  const Pair out =
      Choose(IsFar(z), far,
             {Atan2(z.x, Less(u.x, v.x, u.y, v.y)), Of(Opcode::kAsinh, Less(v.x, u.y, v.y, u.x))});
  return {Select((z.x == 0) & IsNan(z.y), z.x, out.x), out.y};
}
Pair Asinh(Pair z) {  // -i asin(iz)
  const Pair out = Asin({-z.y, z.x});
  return {out.y, -out.x};
}
Pair Atanh(Pair z) {
  const Expression near = z.x.Number(1) - z.x.Abs(), square = z.y * z.y;
  const Expression real =
      (Of(Opcode::kLog1p, z.x.Abs() * 4 / near.Fma(near, square)) * 0.25).WithSignOf(z.x);
  const Expression left = z.x.Number(1) - z.x;
  const Expression zero = z.x.Number(0);
  const Pair far{zero.WithSignOf(z.x),
                 Select(IsNan(z.y), z.y, z.x.Number(std::numbers::pi / 2).WithSignOf(z.y))};
  const Expression angle = Atan2(z.y * 2, left.Fma(z.x + 1, -square)) * 0.5;
  return Choose(Size(z) > 1e150, far, {Select(z.x == 0, z.x, real), angle});
}
Pair Atan(Pair z) {  // -i atanh(iz)
  const Pair out = Atanh({-z.y, z.x});
  return {out.y, -out.x};
}
Pair Atan2(Pair y, Pair x) {
  const Pair t = Quotient(y, x), angle = Atan(t);
  const Pair same = Quotient(x, Sqrt(x * x + y * y)) * Sqrt(Number(t, 1) + t * t);
  const Expression turn = angle.x.Number(std::numbers::pi).WithSignOf(angle.x);
  const Pair out{Select(same.x < 0, angle.x - turn, angle.x), angle.y};
  const Expression is_right = (y.x > 0) | ((y.x == 0) & !(y.y < 0));
  const Expression quarter = y.x.Number(std::numbers::pi / 2);
  const Expression none = y.x.Number(std::numeric_limits<double>::quiet_NaN());
  const Expression is_zero = (y.x == 0) & (y.y == 0);
  const Pair upright{Select(is_zero, none, Select(is_right, quarter, -quarter)),
                     Select(is_zero, none, y.x.Number(0))};
  return Choose((x.x == 0) & (x.y == 0), upright, out);
}

constexpr hlo::OpcodeTable<Pair (*)(Pair z)> kUnary = {
    {Opcode::kAcos, Acos},   {Opcode::kAcosh, Acosh}, {Opcode::kAsin, Asin},
    {Opcode::kAsinh, Asinh}, {Opcode::kAtan, Atan},   {Opcode::kAtanh, Atanh},
    {Opcode::kCos, Cos},     {Opcode::kCosh, Cosh},   {Opcode::kExp, Exp},
    {Opcode::kLog, Log},     {Opcode::kLog1p, Log1p}, {Opcode::kRsqrt, Rsqrt},
    {Opcode::kSign, Sign},   {Opcode::kSin, Sin},     {Opcode::kSinh, Sinh},
    {Opcode::kSqrt, Sqrt},   {Opcode::kTan, Tan},     {Opcode::kTanh, Tanh},
};
constexpr hlo::OpcodeTable<Pair (*)(Pair z, Pair w)> kBinary = {
    {Opcode::kAtan2, Atan2}, {Opcode::kDivide, Quotient}, {Opcode::kMultiply, Product}};

// Those that lose some of what they compute.
std::optional<Judged> JudgedFunction(Opcode opcode, const std::vector<Pair>& in) {
  if (opcode == Opcode::kExpm1) return Expm1(in[0]);
  if (opcode == Opcode::kLogistic) return Logistic(in[0]);
  if (opcode == Opcode::kPower) return Power(in[0], in[1]);
  return std::nullopt;
}

// Parts of infinite, huge or tiny numbers of doubles are not all right here; complex64 is computed
// in doubles and has room. A power of c128 has not the digits that its angle takes.
constexpr hlo::OpcodeSet kNotOfC128 = {Opcode::kAtan, Opcode::kAtan2, Opcode::kAtanh,
                                       Opcode::kPower};

}  // namespace

Value* InlineComplexFunction(Builder& b, Opcode opcode, std::span<Value* const> operands,
                             ElementType type, Value** is_lost) {
  if (type == ElementType::kC128 && kNotOfC128.Has(opcode)) return nullptr;
  std::vector<Pair> in;
  for (Value* operand : operands) {
    const Parts parts =
        PartsOf(b, Converted(b, operand, type, ElementType::kC128), ElementType::kC128);
    in.push_back({{b, parts.real}, {b, parts.imag}});
  }
  const auto out = [&](Pair z) {
    Value* whole = FromParts(b, {z.x.value(), z.y.value()}, ElementType::kC128);
    return Converted(b, whole, ElementType::kC128, type);
  };
  if (const auto judged = JudgedFunction(opcode, in)) {
    if (is_lost != nullptr) *is_lost = judged->is_lost.value();
    return out(judged->value);
  }
  if (in.size() == 1) {
    const auto unary = kUnary[opcode];
    return unary == nullptr ? nullptr : out(unary(in[0]));
  }
  const auto binary = in.size() == 2 ? kBinary[opcode] : nullptr;
  return binary == nullptr ? nullptr : out(binary(in[0], in[1]));
}

}  // namespace hloscope::codegen
