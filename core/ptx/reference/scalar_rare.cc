// What few kernels have, one lane at a time: fields and masks of bits, dot products, numbers by
// class.
#include "core/ptx/reference/scalar_parts.h"

namespace hloscope::ptx::reference {
namespace {

uint64_t BitAt(uint64_t bits, uint32_t at) { return at < 64 ? bits >> at & 1 : 0; }

// Most significant bit that is not the sign.
uint64_t BitFound(const Instruction& in, uint64_t a) {
  const uint32_t width = RowOf(in.type).bits;
  const bool is_signed = RowOf(in.type).kind == TypeKind::kSigned;
  const uint64_t sign = is_signed ? BitAt(a, width - 1) : 0;
  for (uint32_t i = width; i-- > 0;) {
    if (BitAt(a, i) == sign) continue;
    return ModifierShiftAmount(in) == ShiftAmount::kOn ? width - 1 - i : i;
  }
  return 0xffffffff;
}

// Bit by bit: from a on, b of them.
uint64_t MaskOf(bool clamps, uint64_t a, uint64_t b) {
  if (clamps && a >= 32) return 0;
  const uint64_t first = a % 32, length = b % 32;
  const bool to_the_top = clamps && b >= 32;
  uint64_t mask = 0;
  for (uint32_t i = 0; i < 32; ++i) {
    if (i >= first && (to_the_top || i < first + length)) mask |= uint64_t{1} << i;
  }
  return mask;
}

uint64_t NthSet(uint64_t mask, uint64_t base, int32_t offset) {
  if (offset == 0)
    return base < 32 && BitAt(mask, static_cast<uint32_t>(base)) != 0 ? base : 0xffffffff;
  int64_t seen = 0;
  for (auto at = static_cast<int64_t>(base); at >= 0 && at < 32; at += offset > 0 ? 1 : -1) {
    seen += static_cast<int64_t>(BitAt(mask, static_cast<uint32_t>(at)));
    if (seen == std::abs(static_cast<int64_t>(offset))) return static_cast<uint64_t>(at);
  }
  return 0xffffffff;
}

uint64_t ExtendedFrom(const Instruction& in, uint64_t a, uint64_t b) {
  const bool clamps = ModifierShift(in) == Shift::kClamp;
  if (clamps && b >= 32) return a;
  const auto width = static_cast<uint32_t>(b % 32);
  if (width == 0) return 0;
  const uint64_t filler = in.type == Type::kS32 ? BitAt(a, width - 1) : 0;
  uint64_t out = 0;
  for (uint32_t i = 0; i < 32; ++i) out |= (i < width ? BitAt(a, i) : filler) << i;
  return out;
}

Integer Part(uint64_t bits, uint32_t at, uint32_t width, Type type) {
  const Integer value = static_cast<Integer>(bits >> at & ((uint64_t{1} << width) - 1));
  const Integer half = Integer{1} << (width - 1);
  return type == Type::kS32 && value >= half ? value - 2 * half : value;
}

uint64_t DotProduct(const Instruction& in, std::span<const uint64_t> v) {
  Integer sum = static_cast<Integer>(v[3]);
  const bool four = in.operation == Operation::kDp4a;
  const uint32_t from = !four && ModifierHalf(in) == Half::kHi ? 16 : 0;
  for (uint32_t i = 0; i < (four ? 4u : 2u); ++i) {
    sum += Part(v[1], i * (four ? 8 : 16), four ? 8 : 16, in.type) *
           Part(v[2], from + 8 * i, 8, in.source);
  }
  return Cut(sum, 32);
}

// By the tables of the PTX ISA: which byte of {b, a} each byte of d is, the highest first.
uint64_t Permuted(const Instruction& in, std::span<const uint64_t> v) {
  static constexpr const char* kBytes[][4] = {
      {"3210", "4321", "5432", "6543"}, {"5670", "6701", "7012", "0123"},
      {"0000", "1111", "2222", "3333"}, {"3210", "3211", "3222", "3333"},
      {"0000", "1110", "2210", "3210"}, {"1010", "3232", "1010", "3232"}};
  const char* const row = kBytes[static_cast<size_t>(ModifierPermutation(in)) - 1][v[3] % 4];
  uint64_t out = 0;
  for (int i = 0; i < 4; ++i) {
    const auto from = static_cast<uint32_t>(row[i] - '0');
    out = out << 8 | ((from < 4 ? v[1] >> (8 * from) : v[2] >> (8 * (from - 4))) & 0xff);
  }
  return out;
}

uint64_t IsOfClass(const Instruction& in, uint64_t bits) {
  const bool wide = in.type == Type::kF64;
  const uint32_t fraction_bits = wide ? 52 : 23;
  const uint64_t most = wide ? 2047 : 255;
  const uint64_t exponent = bits >> fraction_bits & most;
  const uint64_t fraction = bits & ((uint64_t{1} << fraction_bits) - 1);
  switch (ModifierNumberClass(in)) {
    case NumberClass::kFinite:
      return exponent != most ? 1 : 0;
    case NumberClass::kInfinite:
      return exponent == most && fraction == 0 ? 1 : 0;
    case NumberClass::kNumber:
      return exponent != most || fraction == 0 ? 1 : 0;
    case NumberClass::kNotANumber:
      return exponent == most && fraction != 0 ? 1 : 0;
    case NumberClass::kNormal:  // so is zero
      return exponent != most && (exponent != 0 || fraction == 0) ? 1 : 0;
    default:
      return exponent == 0 && fraction != 0 ? 1 : 0;
  }
}

// The magnitudes compared, under the sign of the product.
uint64_t SignedChoice(const Instruction& in, const Parts& parts, uint64_t a, uint64_t b) {
  const uint64_t sign = uint64_t{1} << (parts.bits - 1);
  const auto magnitude = [&](uint64_t bits) {
    return Flushed(in, NumberOf(parts.type, bits & ~sign));
  };
  const double x = magnitude(a), y = magnitude(b);
  const bool drops = ModifierNan(in) != Nan::kOn;
  if ((std::isnan(x) && std::isnan(y)) || (!drops && (std::isnan(x) || std::isnan(y))))
    return BitsOf(parts.type, NAN, Round::kRn);
  const double chosen = in.operation == Operation::kMaxSigned ? std::fmax(x, y) : std::fmin(x, y);
  return BitsOf(parts.type, chosen, Round::kRn) | ((a ^ b) & sign);
}

}  // namespace

bool RareOperation(const Instruction& in, std::span<uint64_t> v) {
  switch (in.operation) {
    case Operation::kBfind:
      v[0] = BitFound(in, v[1]);
      return true;
    case Operation::kBmsk:
      v[0] = MaskOf(ModifierShift(in) == Shift::kClamp, v[1], v[2]);
      return true;
    case Operation::kFns:
      v[0] = NthSet(v[1], v[2], static_cast<int32_t>(v[3]));
      return true;
    case Operation::kSzext:
      v[0] = ExtendedFrom(in, v[1], v[2]);
      return true;
    case Operation::kSad: {
      const Integer a = IntegerOf(in.type, v[1]), b = IntegerOf(in.type, v[2]);
      v[0] = Cut(static_cast<Integer>(v[3]) + (a < b ? b - a : a - b), RowOf(in.type).bits);
      return true;
    }
    case Operation::kDp4a:
    case Operation::kDp2a:
      v[0] = DotProduct(in, v);
      return true;
    case Operation::kPrmtMode:
      v[0] = Permuted(in, v);
      return true;
    case Operation::kLop3Bool: {
      v[0] = 0;
      for (uint32_t i = 0; i < 32; ++i) {
        const uint64_t row = BitAt(v[2], i) * 4 + BitAt(v[3], i) * 2 + BitAt(v[4], i);
        v[0] |= BitAt(v[5], static_cast<uint32_t>(row)) << i;
      }
      const bool any = v[0] != 0, q = v[6] != 0;
      const Bool with = ModifierBool(in);
      v[1] = (with == Bool::kAnd ? any && q : with == Bool::kOr ? any || q : any != q) ? 1 : 0;
      return true;
    }
    case Operation::kSlct: {
      const bool first = in.source == Type::kF32 ? Flushed(in, NumberOf(Type::kF32, v[3])) >= 0
                                                 : IntegerOf(Type::kS32, v[3]) >= 0;
      v[0] = first ? v[1] : v[2];
      return true;
    }
    case Operation::kTestp:
      v[0] = IsOfClass(in, v[1]);
      return true;
    case Operation::kMinSigned:
    case Operation::kMaxSigned: {
      const Parts parts = PartsOf(in.type);
      v[0] = EachPart(parts, [&](uint32_t p) {
        return SignedChoice(in, parts, OnePart(v[1], parts, p), OnePart(v[2], parts, p));
      });
      return true;
    }
    case Operation::kCvtIntegers: {
      const uint32_t bits = RowOf(in.type).bits;
      const uint64_t low = Cut(Clamped(IntegerOf(Type::kS32, v[2]), in.type), bits),
                     high = Cut(Clamped(IntegerOf(Type::kS32, v[1]), in.type), bits);
      v[0] = low + (high << bits);
      if (v.size() > 3) v[0] += v[3] << (2 * bits);
      v[0] = Cut(static_cast<Integer>(v[0]), 32);
      return true;
    }
    case Operation::kCnot:
      v[0] = v[1] == 0 ? 1 : 0;
      return true;
    case Operation::kMul24:
    case Operation::kMad24:
    case Operation::kMadSat: {
      // Of 24 bits as digits below 2^48, of 32 below 2^64.
      const bool whole = in.operation == Operation::kMadSat;
      const Integer wrap = Integer{1} << (whole ? 32 : 24);
      const auto factor = [&](uint64_t bits) {
        Integer value = static_cast<Integer>(bits) % wrap;
        if (in.type == Type::kS32 && value >= wrap / 2) value -= wrap;
        return value;
      };
      const Integer product = factor(v[1]) * factor(v[2]);
      const Integer unit = ModifierHalf(in) != Half::kHi ? 1 : Integer{1} << (whole ? 32 : 16);
      Integer part = product / unit;
      if (part * unit > product) part -= 1;
      if (ModifierSat(in) == Sat::kOn) {
        const Integer sum = IntegerOf(Type::kS32, Cut(part, 32)) + IntegerOf(Type::kS32, v[3]);
        v[0] = Cut(Clamped(sum, Type::kS32), 32);
      } else {
        v[0] = Cut(part + (in.operation == Operation::kMul24 ? 0 : static_cast<Integer>(v[3])), 32);
      }
      return true;
    }
    case Operation::kMinRelu:
    case Operation::kMaxRelu: {
      const Parts parts =
          in.type == Type::kS32 ? Parts{Type::kS32, 1, 32} : Parts{Type::kS16, 2, 16};
      v[0] = EachPart(parts, [&](uint32_t p) -> uint64_t {
        const Integer a = IntegerOf(parts.type, OnePart(v[1], parts, p)),
                      b = IntegerOf(parts.type, OnePart(v[2], parts, p));
        const Integer chosen = (in.operation == Operation::kMinRelu) == (a < b) ? a : b;
        return chosen < 0 ? 0 : Cut(chosen, parts.bits);
      });
      return true;
    }
    case Operation::kClusterAddress:
      v[0] = v[1];
      return true;
    case Operation::kPolicy:
    case Operation::kClusterRank:
      v[0] = 0;
      return true;
    default:
      return false;
  }
}

}  // namespace hloscope::ptx::reference
