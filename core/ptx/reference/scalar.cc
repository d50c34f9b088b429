// Which part computes an instruction; comparisons and atomics, one lane at a time.
#include "core/ptx/reference/scalar.h"

#include "core/ptx/reference/scalar_parts.h"

namespace hloscope::ptx {
namespace {

using namespace reference;

// Sums, minimum and maximum of halves of a register.
bool HalvesArithmetic(const Instruction& in, std::span<uint64_t> v) {
  const Parts parts{in.type == Type::kS16x2 ? Type::kS16 : Type::kU16, 2, 16};
  const bool is_known = in.operation == Operation::kAdd || in.operation == Operation::kMin ||
                        in.operation == Operation::kMax;
  if (!is_known) return false;
  v[0] = EachPart(parts, [&](uint32_t p) {
    const Integer a = IntegerOf(parts.type, OnePart(v[1], parts, p));
    const Integer b = IntegerOf(parts.type, OnePart(v[2], parts, p));
    if (in.operation == Operation::kAdd) return Cut(a + b, parts.bits);
    return Cut((in.operation == Operation::kMin) == (a < b) ? a : b, parts.bits);
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

bool Compared(const Instruction& in, Type type, uint64_t a, uint64_t b) {
  const Compare compare = ModifierCompare(in);
  if (!IsFloatType(type)) return CompareIntegers(compare, IntegerOf(type, a), IntegerOf(type, b));
  return Ordered(compare, Flushed(in, NumberOf(type, a)), Flushed(in, NumberOf(type, b)));
}

bool With(const Instruction& in, bool holds, bool c) {
  switch (ModifierBool(in)) {
    case Bool::kAnd:
      return holds && c;
    case Bool::kOr:
      return holds || c;
    case Bool::kXor:
      return holds != c;
    default:
      return holds;
  }
}

// setp of both halves, and set.
bool HalvesComparison(const Instruction& in, std::span<uint64_t> v) {
  const Parts parts = PartsOf(in.type);
  for (uint32_t p = 0; p < 2; ++p) {
    const bool holds = Compared(in, parts.type, OnePart(v[2], parts, p), OnePart(v[3], parts, p));
    v[p] = With(in, holds, v.size() > 4 && v[4] != 0) ? 1 : 0;
  }
  return true;
}

bool ComparisonToValue(const Instruction& in, std::span<uint64_t> v) {
  const Parts parts = PartsOf(in.source);
  const bool c = v.size() > 3 && v[3] != 0;
  const Type result = PartsOf(in.type).type;
  v[0] = EachPart(parts, [&](uint32_t p) -> uint64_t {
    if (!With(in, Compared(in, parts.type, OnePart(v[1], parts, p), OnePart(v[2], parts, p)), c))
      return 0;
    if (IsFloatType(result)) return BitsOf(result, 1, Round::kRn);
    const uint32_t width = parts.count == 2 ? 16 : RowOf(result).bits;
    return (uint64_t{1} << width) - 1;
  });
  return true;
}

bool Comparison(const Instruction& in, std::span<uint64_t> v) {
  const bool holds = Compared(in, in.type, v[2], v[3]), c = v.size() > 4 && v[4] != 0;
  v[0] = With(in, holds, c) ? 1 : 0;
  v[1] = With(in, !holds, c) ? 1 : 0;
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
    case Operation::kSetpHalves:
      return HalvesComparison(in, v);
    case Operation::kSet:
      return ComparisonToValue(in, v);
    case Operation::kCnot:
    case Operation::kMul24:
    case Operation::kMad24:
    case Operation::kMadSat:
    case Operation::kMinRelu:
    case Operation::kMaxRelu:
    case Operation::kBfind:
    case Operation::kBmsk:
    case Operation::kFns:
    case Operation::kSzext:
    case Operation::kSad:
    case Operation::kDp4a:
    case Operation::kDp2a:
    case Operation::kPrmtMode:
    case Operation::kLop3Bool:
    case Operation::kSlct:
    case Operation::kTestp:
    case Operation::kMinSigned:
    case Operation::kMaxSigned:
    case Operation::kPolicy:
    case Operation::kCvtIntegers:
    case Operation::kClusterAddress:
    case Operation::kClusterRank:
      return RareOperation(in, v);
    case Operation::kCvt:
      return Conversion(in, slots, v);
    case Operation::kCvtTf32:
      return ToTf32(in, v);
    case Operation::kCvtPack:
    case Operation::kCvtFromF8:
    case Operation::kCvtToF8:
    case Operation::kCvtExponents:
    case Operation::kCvtFromExponents:
    case Operation::kCvtStochastic:
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
  if (kind == TypeKind::kPackedIntegers) return HalvesArithmetic(in, v);
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
    case Atomic::kMax: {
      const bool largest = ModifierAtomic(in) == Atomic::kMax;
      if (const Parts parts = PartsOf(in.type); IsFloatType(parts.type)) {
        changed = EachPart(parts, [&](uint32_t p) {
          const uint64_t x = OnePart(old, parts, p), y = OnePart(value, parts, p);
          const double m = NumberOf(parts.type, x), n = NumberOf(parts.type, y);
          if (std::isnan(m) && std::isnan(n)) return BitsOf(parts.type, NAN, Round::kRn);
          if (std::isnan(m) || std::isnan(n)) return std::isnan(m) ? y : x;
          if (m == n) return std::signbit(m) == largest ? y : x;
          return (m > n) == largest ? x : y;
        });
        return true;
      }
      changed = Cut(largest ? std::max(a, b) : std::min(a, b), width);
      return true;
    }
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
