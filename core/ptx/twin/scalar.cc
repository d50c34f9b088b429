// Instructions one lane at a time.
#include "core/ptx/twin/scalar.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/ptx/twin/numbers.h"

namespace hloscope::ptx {
namespace {

using Integer = __int128;

bool IsFloatType(Type type) { return RowOf(type).kind == TypeKind::kFloat; }

uint64_t Cut(Integer value, uint32_t bits) {
  const auto low = static_cast<uint64_t>(value);
  return bits >= 64 ? low : low & ((uint64_t{1} << bits) - 1);
}

// Of a float type whose subnormals count as zero where the instruction says so.
double Flushed(const Instruction& in, double value) {
  const bool flushes = ModifierFtz(in) == Ftz::kOn && std::fabs(value) < 0x1p-126;
  return flushes ? std::copysign(0.0, value) : value;
}

// Halves of packed types: the type of one, and how many.
struct Parts {
  Type type;
  uint32_t count, bits;
};
Parts PartsOf(Type type) {
  switch (type) {
    case Type::kF16x2:
      return {Type::kF16, 2, 16};
    case Type::kBf16x2:
      return {Type::kBf16, 2, 16};
    case Type::kF32x2:
      return {Type::kF32, 2, 32};
    default:
      return {type, 1, RowOf(type).bits};
  }
}

uint64_t OnePart(uint64_t bits, const Parts& parts, uint32_t p) {
  return Cut(static_cast<Integer>(bits >> (parts.bits * p)), parts.bits);
}

template <typename F>
uint64_t EachPart(const Parts& parts, F f) {
  uint64_t out = 0;
  for (uint32_t p = 0; p < parts.count; ++p) out |= f(p) << (parts.bits * p);
  return out;
}

uint64_t Finish(const Instruction& in, Type type, uint64_t bits) {
  double value = NumberOf(type, bits);
  if (ModifierRelu(in) == Relu::kOn && !std::isnan(value) && !(value > 0)) {
    value = 0;
    bits = 0;
  }
  if (ModifierSat(in) == Sat::kOn) {
    if (!(value > 0)) return 0;
    if (value > 1) return BitsOf(type, 1, Round::kRn);
  }
  if (type == Type::kF32 && ModifierFtz(in) == Ftz::kOn && std::fabs(value) < 0x1p-126)
    return bits & 0x80000000;
  return bits;
}

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

// Minimum and maximum: -0 below +0; a NaN is dropped, or kept with .NaN.
double Chosen(const Instruction& in, double a, double b) {
  const bool largest = in.operation == Operation::kMax || in.operation == Operation::kMax3;
  if (std::isnan(a) && std::isnan(b)) return NAN;
  if (std::isnan(a) || std::isnan(b))
    return ModifierNan(in) == Nan::kOn ? NAN : std::isnan(a) ? b : a;
  if (a == b) return std::signbit(a) ? (largest ? b : a) : (largest ? a : b);
  return largest ? std::fmax(a, b) : std::fmin(a, b);
}

bool FloatChoice(const Instruction& in, std::span<uint64_t> v) {
  const Parts parts = PartsOf(in.type);
  const bool three = in.operation == Operation::kMin3 || in.operation == Operation::kMax3;
  v[0] = EachPart(parts, [&](uint32_t p) {
    const auto take = [&](size_t i) {
      return Flushed(in, NumberOf(parts.type, OnePart(v[i], parts, p)));
    };
    double r = Chosen(in, take(1), take(2));
    if (three) r = Chosen(in, r, take(3));
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
    return std::fabs(NumberOf(parts.type, bits)) < 0x1p-126 ? bits & sign : bits;
  });
  return true;
}

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

bool Ordered(Compare compare, double a, double b) {
  const bool nan = std::isnan(a) || std::isnan(b);
  switch (compare) {
    case Compare::kEq:
      return !nan && a == b;
    case Compare::kNe:
      return !nan && a != b;
    case Compare::kLt:
      return !nan && a < b;
    case Compare::kLe:
      return !nan && a <= b;
    case Compare::kGt:
      return !nan && a > b;
    case Compare::kGe:
      return !nan && a >= b;
    case Compare::kEqu:
      return nan || a == b;
    case Compare::kNeu:
      return nan || a != b;
    case Compare::kLtu:
      return nan || a < b;
    case Compare::kLeu:
      return nan || a <= b;
    case Compare::kGtu:
      return nan || a > b;
    case Compare::kGeu:
      return nan || a >= b;
    case Compare::kNum:
      return !nan;
    default:
      return nan;
  }
}

bool CompareIntegers(Compare compare, Integer a, Integer b) {
  switch (compare) {
    case Compare::kEq:
      return a == b;
    case Compare::kNe:
      return a != b;
    case Compare::kLt:
    case Compare::kLo:
      return a < b;
    case Compare::kLe:
    case Compare::kLs:
      return a <= b;
    case Compare::kGt:
    case Compare::kHi:
      return a > b;
    default:
      return a >= b;
  }
}

bool Comparison(const Instruction& in, std::span<uint64_t> v) {
  const Compare compare = ModifierCompare(in);
  bool holds;
  if (IsFloatType(in.type)) {
    holds = Ordered(compare, Flushed(in, NumberOf(in.type, v[2])),
                    Flushed(in, NumberOf(in.type, v[3])));
  } else {
    holds = CompareIntegers(compare, IntegerOf(in.type, v[2]), IntegerOf(in.type, v[3]));
  }
  bool other = !holds;
  if (ModifierBool(in) != Bool::kNone) {
    const bool c = v[4] != 0;
    const auto with = [&](bool x) {
      return ModifierBool(in) == Bool::kAnd  ? x && c
             : ModifierBool(in) == Bool::kOr ? x || c
                                             : x != c;
    };
    holds = with(holds);
    other = with(other);
  }
  v[0] = holds ? 1 : 0;
  v[1] = other ? 1 : 0;
  return true;
}

double Integral(IntegerRound round, double value) {
  if (round == IntegerRound::kRni) {
    const double down = std::floor(value), rest = value - down;
    if (rest > 0.5 || (rest == 0.5 && std::fmod(down, 2) != 0)) return down + 1;
    return down == 0 && std::signbit(value) ? -0.0 : down;
  }
  if (round == IntegerRound::kRzi) return value < 0 ? std::ceil(value) : std::floor(value);
  if (round == IntegerRound::kRmi) return std::floor(value);
  return round == IntegerRound::kRpi ? std::ceil(value) : value;
}

Integer Clamped(Integer value, Type type) {
  const uint32_t width = RowOf(type).bits;
  const bool is_signed = RowOf(type).kind == TypeKind::kSigned;
  const Integer one = 1;
  const Integer most = (one << (is_signed ? width - 1 : width)) - 1;
  return std::clamp<Integer>(value, is_signed ? -most - 1 : 0, most);
}

bool Conversion(const Instruction& in, std::span<const Slot> slots, std::span<uint64_t> v) {
  const uint32_t to_bits = 8u * slots[0].bytes;
  const Round round = ModifierRound(in) == Round::kNone ? Round::kRn : ModifierRound(in);
  if (IsFloatType(in.source)) {
    double value = NumberOf(in.source, v[1]);
    if (in.source == Type::kF32) value = Flushed(in, value);
    value = Integral(ModifierIntegerRound(in), value);
    if (IsFloatType(in.type)) {
      v[0] = Finish(in, in.type, BitsOf(in.type, value, round));
      return true;
    }
    if (std::isnan(value)) {
      v[0] = 0;
    } else {
      const double held = std::clamp(value, -0x1p100, 0x1p100);
      v[0] = Cut(Clamped(static_cast<Integer>(held), in.type), to_bits);
    }
    return true;
  }
  const Integer value = IntegerOf(in.source, v[1]);
  if (IsFloatType(in.type)) {
    if (round != Round::kRn) return false;
    if (in.type == Type::kF32) {
      v[0] = std::bit_cast<uint32_t>(static_cast<float>(value));
    } else if (in.type == Type::kF64) {
      v[0] = std::bit_cast<uint64_t>(static_cast<double>(value));
    } else {
      if (value > (1 << 30) || value < -(1 << 30)) return false;
      v[0] = BitsOf(in.type, static_cast<double>(value), round);
    }
    v[0] = Finish(in, in.type, v[0]);
    return true;
  }
  const Integer wanted = ModifierSat(in) == Sat::kOn ? Clamped(value, in.type) : value;
  v[0] = Cut(IntegerOf(in.type, Cut(wanted, RowOf(in.type).bits)), to_bits);
  return true;
}

bool PackedConversion(const Instruction& in, std::span<uint64_t> v) {
  Type part = Type::kF16;
  if (in.type == Type::kBf16x2) part = Type::kBf16;
  if (in.type == Type::kE4m3x2) part = Type::kE4m3;
  if (in.type == Type::kE5m2x2) part = Type::kE5m2;
  const uint32_t bits = RowOf(part).bits;
  const bool saturates = ModifierSatfinite(in) == Satfinite::kOn;
  const auto round = [&](double value) {
    if (ModifierRelu(in) == Relu::kOn && value < 0) value = 0;
    return BitsOf(part, value, ModifierRound(in), saturates);
  };
  switch (in.operation) {
    case Operation::kCvtPack:
      v[0] = round(NumberOf(Type::kF32, v[1])) << bits | round(NumberOf(Type::kF32, v[2]));
      return true;
    case Operation::kCvtFromF8: {
      const Type from = in.source == Type::kE4m3x2 ? Type::kE4m3 : Type::kE5m2;
      v[0] = round(NumberOf(from, v[1] >> 8 & 0xff)) << 16 | round(NumberOf(from, v[1] & 0xff));
      return true;
    }
    default:
      v[0] = round(NumberOf(Type::kF16, v[1] >> 16 & 0xffff)) << 8 |
             round(NumberOf(Type::kF16, v[1] & 0xffff));
      return true;
  }
}

bool ToTf32(const Instruction& in, std::span<uint64_t> v) {
  const double value = NumberOf(Type::kF32, v[1]);
  if (ModifierRelu(in) == Relu::kOn || ModifierSatfinite(in) == Satfinite::kOn) return false;
  if (std::isnan(value)) {
    v[0] = 0x7fffffff;
  } else if (std::isinf(value)) {
    v[0] = v[1];
  } else {
    // Units of the eleventh bit, halves decided as the mode says.
    const int exponent = value == 0 ? -126 : std::max(std::ilogb(value), -126);
    const double units = std::ldexp(std::fabs(value), 10 - exponent);
    double whole = std::floor(units);
    const double rest = units - whole;
    const Round round = ModifierRound(in);
    if (round == Round::kRna && rest >= 0.5) whole += 1;
    if (round == Round::kRn && (rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) != 0)))
      whole += 1;
    const double rounded = std::copysign(std::ldexp(whole, exponent - 10), value);
    v[0] = std::bit_cast<uint32_t>(static_cast<float>(rounded));
  }
  return true;
}

bool CarryArithmetic(const Instruction& in, std::span<uint64_t> v, bool& carry) {
  const uint32_t width = RowOf(in.type).bits;
  const bool mad = in.operation == Operation::kMadCarry || in.operation == Operation::kMadWithCarry;
  const bool takes =
      in.operation == Operation::kAddWithCarry || in.operation == Operation::kMadWithCarry;
  const Integer one = 1;
  Integer sum = static_cast<Integer>(Cut(static_cast<Integer>(v[mad ? 3 : 2]), width));
  if (mad) {
    const Integer product = IntegerOf(in.type, v[1]) * IntegerOf(in.type, v[2]);
    sum += static_cast<Integer>(
        Cut(ModifierHalf(in) == Half::kHi ? product >> width : product, width));
  } else {
    sum += static_cast<Integer>(Cut(static_cast<Integer>(v[1]), width));
  }
  sum += takes && carry ? 1 : 0;
  v[0] = Cut(sum, width);
  if (ModifierCarry(in) == Carry::kOut) carry = sum >= one << width;
  return true;
}

bool BorrowArithmetic(const Instruction& in, std::span<uint64_t> v, bool& borrow) {
  const uint32_t width = RowOf(in.type).bits;
  Integer rest = static_cast<Integer>(Cut(static_cast<Integer>(v[1]), width)) -
                 static_cast<Integer>(Cut(static_cast<Integer>(v[2]), width));
  rest -= in.operation == Operation::kSubWithCarry && borrow ? 1 : 0;
  v[0] = Cut(rest, width);
  if (ModifierCarry(in) == Carry::kOut) borrow = rest < 0;
  return true;
}

bool IntegerArithmetic(const Instruction& in, std::span<const Slot> slots, std::span<uint64_t> v) {
  const uint32_t width = RowOf(in.type).bits;
  const uint32_t to = 8u * slots[0].bytes;
  const auto a = [&] { return IntegerOf(in.type, v[1]); };
  const auto b = [&] { return IntegerOf(in.type, v[2]); };
  const auto shift = [&] { return static_cast<uint32_t>(v[2]); };
  const bool saturates = ModifierSat(in) == Sat::kOn;
  switch (in.operation) {
    case Operation::kAdd:
      v[0] = Cut(saturates ? Clamped(a() + b(), in.type) : a() + b(), to);
      return true;
    case Operation::kSub:
      v[0] = Cut(saturates ? Clamped(a() - b(), in.type) : a() - b(), to);
      return true;
    case Operation::kMul:
    case Operation::kMad: {
      if (width == 64 && ModifierHalf(in) != Half::kHi) {
        v[0] = v[1] * v[2] + (in.operation == Operation::kMad ? v[3] : 0);
        return true;
      }
      Integer product = a() * b();
      if (width == 64 && RowOf(in.type).kind != TypeKind::kSigned) {
        const auto wide = static_cast<unsigned __int128>(v[1]) * v[2];
        product = static_cast<Integer>(static_cast<uint64_t>(wide >> 64));
      } else if (ModifierHalf(in) == Half::kHi) {
        product >>= width;
      }
      if (in.operation == Operation::kMad) product += IntegerOf(in.type, v[3]);
      v[0] = Cut(product, to);
      return true;
    }
    case Operation::kMulWide:
      v[0] = Cut(a() * b(), to);
      return true;
    case Operation::kMadWide:
      v[0] = Cut(a() * b() + static_cast<Integer>(v[3]), to);
      return true;
    case Operation::kDiv:
      v[0] = Cut(b() == 0 ? -1 : a() / b(), to);
      return true;
    case Operation::kRem:
      v[0] = Cut(b() == 0 ? a() : a() % b(), to);
      return true;
    case Operation::kMin:
      v[0] = Cut(std::min(a(), b()), to);
      return true;
    case Operation::kMax:
      v[0] = Cut(std::max(a(), b()), to);
      return true;
    case Operation::kNeg:
      v[0] = Cut(-a(), to);
      return true;
    case Operation::kAbs:
      v[0] = Cut(a() < 0 ? -a() : a(), to);
      return true;
    case Operation::kShl:
      v[0] = shift() >= width ? 0 : Cut(static_cast<Integer>(v[1]) << shift(), to);
      return true;
    case Operation::kShr:
      v[0] = Cut(a() >> std::min(shift(), 127u), to);
      return true;
    case Operation::kPopc:
      v[0] = static_cast<uint64_t>(std::popcount(Cut(static_cast<Integer>(v[1]), width)));
      return true;
    case Operation::kClz: {
      uint64_t zeros = 0;
      while (zeros < width && (v[1] >> (width - 1 - zeros) & 1) == 0) ++zeros;
      v[0] = zeros;
      return true;
    }
    case Operation::kBrev: {
      uint64_t out = 0;
      for (uint32_t i = 0; i < width; ++i) out |= (v[1] >> i & 1) << (width - 1 - i);
      v[0] = out;
      return true;
    }
    case Operation::kBfe: {
      const uint32_t at = v[2] & 0xff, length = v[3] & 0xff;
      const bool is_signed = RowOf(in.type).kind == TypeKind::kSigned;
      const auto bit = [&](uint32_t i) -> uint64_t {
        if (i < width) return v[1] >> i & 1;
        return 0;
      };
      const uint64_t sign = is_signed && length > 0 ? bit(std::min(at + length - 1, width - 1)) : 0;
      uint64_t out = 0;
      for (uint32_t i = 0; i < width; ++i) {
        const uint64_t one = i < length && at + i < width ? bit(at + i) : sign;
        out |= one << i;
      }
      v[0] = length == 0 ? 0 : out;
      return true;
    }
    case Operation::kBfi: {
      const uint32_t at = v[3] & 0xff, length = v[4] & 0xff;
      uint64_t out = v[2];
      for (uint32_t i = 0; i < length && at + i < width; ++i) {
        out &= ~(uint64_t{1} << (at + i));
        out |= (v[1] >> std::min(i, 63u) & 1) << (at + i);
      }
      v[0] = out;
      return true;
    }
    default:
      return false;
  }
}

bool BitwiseOperation(const Instruction& in, std::span<const Slot> slots, std::span<uint64_t> v) {
  const uint32_t width = in.type == Type::kPred ? 1 : 8u * slots[0].bytes;
  switch (in.operation) {
    case Operation::kAnd:
      v[0] = v[1] & v[2];
      return true;
    case Operation::kOr:
      v[0] = v[1] | v[2];
      return true;
    case Operation::kXor:
      v[0] = v[1] ^ v[2];
      return true;
    case Operation::kNot:
      v[0] = Cut(static_cast<Integer>(~v[1]), width);
      return true;
    case Operation::kMov:
      v[0] = v[1];
      return true;
    case Operation::kSelp:
      v[0] = v[3] != 0 ? v[1] : v[2];
      return true;
    case Operation::kLop3: {
      uint64_t out = 0;
      for (uint32_t i = 0; i < 32; ++i) {
        const uint64_t row = (v[1] >> i & 1) << 2 | (v[2] >> i & 1) << 1 | (v[3] >> i & 1);
        out |= (v[4] >> row & 1) << i;
      }
      v[0] = out;
      return true;
    }
    case Operation::kPrmt: {
      uint64_t out = 0;
      for (uint32_t i = 0; i < 4; ++i) {
        const auto nibble = static_cast<uint32_t>(v[3] >> (4 * i)) & 15;
        const uint64_t word = (nibble & 4) != 0 ? v[2] : v[1];
        const uint64_t byte = word >> (8 * (nibble & 3)) & 0xff;
        const bool copies_sign = nibble >= 8;
        out |= (copies_sign ? (byte >= 128 ? 0xff : 0) : byte) << (8 * i);
      }
      v[0] = out;
      return true;
    }
    case Operation::kShf: {
      const bool wraps = ModifierShift(in) == Shift::kWrap;
      const auto by = static_cast<uint32_t>(v[3]);
      const uint32_t count = wraps ? by % 32 : std::min(by, 32u);
      const auto both = static_cast<unsigned __int128>(v[2]) << 32 | v[1];
      v[0] = static_cast<uint32_t>(ModifierDirection(in) == Direction::kLeft ? both << count >> 32
                                                                             : both >> count);
      return true;
    }
    default:
      return false;
  }
}

bool Repack(const Instruction& in, std::span<const Slot> slots, std::span<uint64_t> v) {
  const size_t last = slots.size() - 1;
  if (in.operation == Operation::kPack) {
    v[0] = 0;
    uint32_t at = 0;
    for (size_t i = 1; i <= last; at += 8u * slots[i].bytes, ++i) v[0] |= v[i] << at;
    return true;
  }
  uint32_t at = 0;
  for (size_t i = 0; i < last; at += 8u * slots[i].bytes, ++i)
    v[i] = Cut(static_cast<Integer>(v[last] >> at), 8u * slots[i].bytes);
  return true;
}

bool Address(const Instruction& in, std::span<uint64_t> v) {
  uint64_t window = 0;
  switch (ModifierStateSpace(in)) {
    case StateSpace::kShared:
    case StateSpace::kSharedCta:
    case StateSpace::kSharedCluster:
      window = kSharedWindow;
      break;
    case StateSpace::kLocal:
      window = kLocalWindow;
      break;
    case StateSpace::kParam:
    case StateSpace::kParamEntry:
      window = kParamWindow;
      break;
    default:
      break;
  }
  const uint64_t base = window << kWindowShift;
  v[0] = ModifierTo(in) == To::kSpace ? v[1] - base : v[1] + base;
  return true;
}

}  // namespace

bool IsApproximation(const Instruction& in) {
  if (ClassOf(in.operation) == InstructionClass::kFunction)
    return in.approximate || (in.operation != Operation::kSqrt && in.operation != Operation::kRcp);
  return in.operation == Operation::kDiv && in.approximate;
}

bool ComputeScalar(const Instruction& in, std::span<const Slot> slots, std::span<uint64_t> v,
                   bool& carry) {
  const TypeKind kind = RowOf(in.type).kind;
  const bool is_float = kind == TypeKind::kFloat || kind == TypeKind::kPacked;
  switch (in.operation) {
    case Operation::kAnd:
    case Operation::kOr:
    case Operation::kXor:
    case Operation::kNot:
    case Operation::kMov:
    case Operation::kSelp:
    case Operation::kLop3:
    case Operation::kPrmt:
    case Operation::kShf:
      return BitwiseOperation(in, slots, v);
    case Operation::kPack:
    case Operation::kUnpack:
      return Repack(in, slots, v);
    case Operation::kCvta:
      return Address(in, v);
    case Operation::kSetp:
      return Comparison(in, v);
    case Operation::kCvt:
      return Conversion(in, slots, v);
    case Operation::kCvtTf32:
      return ToTf32(in, v);
    case Operation::kCvtPack:
    case Operation::kCvtFromF8:
    case Operation::kCvtToF8:
      return PackedConversion(in, v);
    case Operation::kAddCarry:
    case Operation::kAddWithCarry:
    case Operation::kMadCarry:
    case Operation::kMadWithCarry:
      return CarryArithmetic(in, v, carry);
    case Operation::kSubCarry:
    case Operation::kSubWithCarry:
      return BorrowArithmetic(in, v, carry);
    case Operation::kCopysign: {
      const uint64_t sign = uint64_t{1} << (RowOf(in.type).bits - 1);
      v[0] = (v[1] & sign) | (v[2] & (sign - 1));
      return true;
    }
    default:
      break;
  }
  if (!is_float) return IntegerArithmetic(in, slots, v);
  switch (in.operation) {
    case Operation::kAdd:
    case Operation::kSub:
    case Operation::kMul:
    case Operation::kFma:
    case Operation::kAddMixed:
    case Operation::kSubMixed:
    case Operation::kFmaMixed:
      return FloatArithmetic(in, v);
    case Operation::kMin:
    case Operation::kMax:
    case Operation::kMin3:
    case Operation::kMax3:
      return FloatChoice(in, v);
    case Operation::kNeg:
    case Operation::kAbs:
      return FloatSign(in, v);
    default:
      break;
  }
  if (ClassOf(in.operation) == InstructionClass::kFunction || in.operation == Operation::kDiv)
    return FloatFunction(in, v);
  return false;
}

bool ComputeAtomic(const Instruction& in, uint64_t old, uint64_t value, uint64_t other,
                   uint64_t& changed) {
  const uint32_t width = RowOf(in.type).bits;
  const Integer a = IntegerOf(in.type, old), b = IntegerOf(in.type, value);
  if (in.operation == Operation::kAtomCas) {
    changed = a == b ? other : old;
    return true;
  }
  switch (ModifierAtomic(in)) {
    case Atomic::kAdd: {
      const Parts parts = PartsOf(in.type);
      if (!IsFloatType(parts.type)) {
        changed = Cut(a + b, width);
        return true;
      }
      changed = EachPart(parts, [&](uint32_t p) {
        return RoundedOnce(Sum::kAdd, parts.type, NumberOf(parts.type, OnePart(old, parts, p)),
                           NumberOf(parts.type, OnePart(value, parts, p)), 0, Round::kRn);
      });
      return true;
    }
    case Atomic::kMin:
      changed = Cut(std::min(a, b), width);
      return true;
    case Atomic::kMax:
      changed = Cut(std::max(a, b), width);
      return true;
    case Atomic::kAnd:
      changed = old & value;
      return true;
    case Atomic::kOr:
      changed = old | value;
      return true;
    case Atomic::kXor:
      changed = old ^ value;
      return true;
    case Atomic::kExch:
      changed = value;
      return true;
    default:
      return false;
  }
}

}  // namespace hloscope::ptx
