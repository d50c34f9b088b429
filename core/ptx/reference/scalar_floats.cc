// Arithmetic and functions of floats, one lane at a time.
#include <bit>

#include "core/ptx/reference/scalar_parts.h"

namespace hloscope::ptx::reference {

bool FloatArithmetic(const Instruction& in, std::span<uint64_t> v) {
  const bool mixed = in.operation == Operation::kAddMixed || in.operation == Operation::kSubMixed ||
                     in.operation == Operation::kFmaMixed;
  const bool fma = in.operation == Operation::kFma || in.operation == Operation::kFmaMixed;
  Sum sum = Sum::kFma;
  if (in.operation == Operation::kAdd || in.operation == Operation::kAddMixed) sum = Sum::kAdd;
  if (in.operation == Operation::kSub || in.operation == Operation::kSubMixed) sum = Sum::kSub;
  if (in.operation == Operation::kMul) sum = Sum::kMul;
  const Parts parts = PartsOf(in.type);
  const Round round = ModifierRound(in) == Round::kNone ? Round::kRn : ModifierRound(in);
  if (round == Round::kRna) return false;
  v[0] = EachPart(parts, [&](uint32_t p) {
    const auto take = [&](size_t i, Type type) {
      const uint64_t bits = type == in.type || !mixed ? OnePart(v[i], parts, p) : v[i];
      return Flushed(in, NumberOf(type, bits));
    };
    const double a = take(1, mixed ? in.source : parts.type);
    const double b = take(2, mixed && fma ? in.source : parts.type);
    const double c = fma ? take(3, parts.type) : 0;
    return Finish(in, parts.type, RoundedOnce(sum, parts.type, a, b, c, round));
  });
  return true;
}

namespace {

// Minimum and maximum: -0 below +0; a NaN is dropped, or kept with .NaN.
double Chosen(const Instruction& in, double a, double b) {
  const bool largest = in.operation == Operation::kMax || in.operation == Operation::kMax3;
  if (std::isnan(a) && std::isnan(b)) return NAN;
  if (std::isnan(a) || std::isnan(b))
    return ModifierNan(in) == Nan::kOn ? NAN : std::isnan(a) ? b : a;
  if (a == b) return std::signbit(a) ? (largest ? b : a) : (largest ? a : b);
  return largest ? std::fmax(a, b) : std::fmin(a, b);
}

}  // namespace

bool FloatChoice(const Instruction& in, std::span<uint64_t> v) {
  const Parts parts = PartsOf(in.type);
  const bool three = in.operation == Operation::kMin3 || in.operation == Operation::kMax3;
  v[0] = EachPart(parts, [&](uint32_t p) {
    const auto take = [&](size_t i) {
      return Flushed(in, NumberOf(parts.type, OnePart(v[i], parts, p)));
    };
    const auto magnitude = [&](double x) {
      return three && ModifierAbs(in) == Abs::kOn ? std::fabs(x) : x;
    };
    double r = Chosen(in, magnitude(take(1)), magnitude(take(2)));
    if (three) r = Chosen(in, r, magnitude(take(3)));
    if (parts.type == Type::kF64 && std::isnan(r)) return uint64_t{0x7ff8000000000000};
    return BitsOf(parts.type, r, Round::kRn);
  });
  return true;
}

bool FloatSign(const Instruction& in, std::span<uint64_t> v) {
  const Parts parts = PartsOf(in.type);
  v[0] = EachPart(parts, [&](uint32_t p) {
    const uint64_t sign = uint64_t{1} << (parts.bits - 1);
    uint64_t bits = OnePart(v[1], parts, p);
    bits = in.operation == Operation::kNeg ? bits ^ sign : bits & ~sign;
    if (ModifierFtz(in) != Ftz::kOn) return bits;
    const double least = parts.type == Type::kF16 ? 0x1p-14 : 0x1p-126;
    return std::fabs(NumberOf(parts.type, bits)) < least ? bits & sign : bits;
  });
  return true;
}

namespace {

long double Function(Operation operation, long double a, long double b) {
  switch (operation) {
    case Operation::kEx2:
      return std::exp2(a);
    case Operation::kLg2:
      return std::log2(a);
    case Operation::kSin:
      return std::sin(a);
    case Operation::kCos:
      return std::cos(a);
    case Operation::kTanh:
      return std::tanh(a);
    case Operation::kRcp:
      return 1 / a;
    case Operation::kSqrt:
      return std::sqrt(a);
    case Operation::kRsqrt:
      return 1 / std::sqrt(a);
    default:
      return a / b;
  }
}

}  // namespace

bool FloatFunction(const Instruction& in, std::span<uint64_t> v) {
  const Parts parts = PartsOf(in.type);
  const Round round = ModifierRound(in) == Round::kNone ? Round::kRn : ModifierRound(in);
  const bool two = in.operation == Operation::kDiv;
  const bool is_double = parts.type == Type::kF64;
  if (is_double && round != Round::kRn) return false;
  v[0] = EachPart(parts, [&](uint32_t p) {
    const double a = Flushed(in, NumberOf(parts.type, OnePart(v[1], parts, p)));
    const double b = two ? Flushed(in, NumberOf(parts.type, OnePart(v[2], parts, p))) : 1;
    if (is_double && (two || in.operation == Operation::kSqrt || in.operation == Operation::kRcp)) {
      volatile double x = a, y = b;
      const double r = two ? x / y : in.operation == Operation::kRcp ? 1 / x : std::sqrt(x);
      return std::bit_cast<uint64_t>(r);
    }
    const auto exact = Function(in.operation, a, b);
    return Finish(in, parts.type, BitsOf(parts.type, static_cast<double>(exact), round));
  });
  return true;
}

}  // namespace hloscope::ptx::reference
