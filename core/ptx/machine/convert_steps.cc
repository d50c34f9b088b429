// Conversions between all types. Integers saturate, NaN becomes 0, as cvt says.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/ptx/machine/lanes.h"
#include "core/ptx/machine/rounding.h"
#include "core/ptx/machine/steps.h"
#include "core/ptx/machine/unit_begin.h"

namespace hloscope::ptx::inline HLOSCOPE_UNIT {
namespace {

bool IsFloat(Type type) { return RowOf(type).kind == TypeKind::kFloat; }
bool IsSigned(Type type) { return RowOf(type).kind == TypeKind::kSigned; }

uint64_t SignExtended(uint64_t bits, uint32_t width) {
  if (width >= 64) return bits;
  const uint64_t sign = uint64_t{1} << (width - 1);
  bits &= (sign << 1) - 1;
  return (bits ^ sign) - sign;
}

uint64_t ZeroExtended(uint64_t bits, uint32_t width) {
  return width >= 64 ? bits : bits & ((uint64_t{1} << width) - 1);
}

float Flushed(float x) {
  return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}

double LoadFloat(const Instruction& in, uint64_t bits) {
  switch (in.source) {
    case Type::kF32: {
      const float f = std::bit_cast<float>(static_cast<uint32_t>(bits));
      return ModifierFtz(in) == Ftz::kOn ? Flushed(f) : f;
    }
    case Type::kF64:
      return std::bit_cast<double>(bits);
    case Type::kF16:
      return HalfToFloat(static_cast<uint16_t>(bits));
    default:
      return Bf16ToFloat(static_cast<uint16_t>(bits));
  }
}

uint64_t StoreFloat(const Instruction& in, double value) {
  if (ModifierSat(in) == Sat::kOn) value = value > 0 ? std::min(value, 1.0) : 0.0;
  switch (in.type) {
    case Type::kF32: {
      float f = ToFloat(value, ModifierRound(in));
      if (f != f) return kNan32;
      if (ModifierFtz(in) == Ftz::kOn) f = Flushed(f);
      return std::bit_cast<uint32_t>(f);
    }
    case Type::kF64:
      return std::bit_cast<uint64_t>(value);
    case Type::kF16:
      return value != value ? kNan16 : ToNarrow(value, kFormatF16, ModifierRound(in));
    default:
      return value != value ? kNan16 : ToNarrow(value, kFormatBf16, ModifierRound(in));
  }
}

double ToIntegral(double value, IntegerRound round) {
  switch (round) {
    case IntegerRound::kRni:
      return std::nearbyint(value);
    case IntegerRound::kRzi:
      return std::trunc(value);
    case IntegerRound::kRmi:
      return std::floor(value);
    case IntegerRound::kRpi:
      return std::ceil(value);
    case IntegerRound::kNone:
      return value;
  }
  return value;
}

uint64_t FloatToInteger(const Instruction& in, double value) {
  const uint32_t width = RowOf(in.type).bits;
  value = ToIntegral(value, ModifierIntegerRound(in));
  if (value != value) return 0;
  const bool is_signed = IsSigned(in.type);
  const double top = std::ldexp(1.0, static_cast<int>(is_signed ? width - 1 : width));
  const uint64_t ones = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  if (value >= top) return is_signed ? ones >> 1 : ones;
  if (!is_signed) return value <= 0 ? 0 : static_cast<uint64_t>(value);
  if (value < -top) return uint64_t{0} - (uint64_t{1} << (width - 1));
  return static_cast<uint64_t>(static_cast<int64_t>(value));
}

// long double holds every 64-bit integer, so that one rounding is made.
uint64_t IntegerToFloat(const Instruction& in, uint64_t bits) {
  const bool is_signed = IsSigned(in.source);
  const long double exact = is_signed ? static_cast<long double>(static_cast<int64_t>(bits))
                                      : static_cast<long double>(bits);
  const Round round = ModifierRound(in);
  auto value = static_cast<double>(exact);
  if (in.type == Type::kF64) {
    if (round == Round::kRz && std::fabs(static_cast<long double>(value)) > std::fabs(exact))
      value = std::nextafter(value, 0.0);
    if (round == Round::kRm && static_cast<long double>(value) > exact)
      value = std::nextafter(value, -INFINITY);
    if (round == Round::kRp && static_cast<long double>(value) < exact)
      value = std::nextafter(value, INFINITY);
    return StoreFloat(in, value);
  }
  // To odd, for the narrower types.
  const long double error = exact - static_cast<long double>(value);
  const auto as_bits = std::bit_cast<uint64_t>(value);
  if (error != 0 && (as_bits & 1) == 0)
    value = std::bit_cast<double>((error > 0) == (value > 0) ? as_bits + 1 : as_bits - 1);
  return StoreFloat(in, value);
}

uint64_t IntegerToInteger(const Instruction& in, uint64_t bits) {
  if (ModifierSat(in) != Sat::kOn) return bits;
  const uint32_t width = RowOf(in.type).bits;
  const bool from_signed = IsSigned(in.source), to_signed = IsSigned(in.type);
  const __int128 value =
      from_signed ? static_cast<__int128>(static_cast<int64_t>(bits)) : static_cast<__int128>(bits);
  const __int128 high = (static_cast<__int128>(1) << (to_signed ? width - 1 : width)) - 1;
  const __int128 low = to_signed ? -high - 1 : 0;
  return static_cast<uint64_t>(std::clamp(value, low, high));
}

uint64_t Convert(const Instruction& in, uint64_t bits) {
  const uint32_t from = RowOf(in.source).bits;
  bits = IsSigned(in.source) ? SignExtended(bits, from) : ZeroExtended(bits, from);
  uint64_t result;
  if (IsFloat(in.source)) {
    const double value = LoadFloat(in, bits);
    result = IsFloat(in.type) ? StoreFloat(in, ToIntegral(value, ModifierIntegerRound(in)))
                              : FloatToInteger(in, value);
  } else {
    result = IsFloat(in.type) ? IntegerToFloat(in, bits) : IntegerToInteger(in, bits);
  }
  // Into a wider register integers are extended by the sign of their type.
  const uint32_t to = RowOf(in.type).bits;
  return IsSigned(in.type) ? SignExtended(result, to) : ZeroExtended(result, to);
}

void ConvertLanes(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) != 0) WriteLane(w, s[0], l, Convert(in, ReadLane(w, s[1], l)));
  }
}

// The frequent ones on registers of exactly their types.
template <typename D, typename A>
void Cast(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  if (s[0].bytes != sizeof(D) || s[1].bytes != sizeof(A)) return ConvertLanes(w, in, s, m);
  Map<D, A>(w, s, m, [](A a) { return static_cast<D>(a); });
}

Step FastStep(const Instruction& i) {
  const bool clamps = ModifierSat(i) == Sat::kOn && i.type == Type::kF32 && i.source == Type::kF32;
  if (clamps && ModifierFtz(i) == Ftz::kNone && ModifierRound(i) == Round::kNone &&
      ModifierIntegerRound(i) == IntegerRound::kNone) {
    return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
      if (s[0].bytes != 4 || s[1].bytes != 4) return ConvertLanes(w, in, s, m);
      Map<float, float>(w, s, m, [](float a) { return a > 0 ? std::min(a, 1.0f) : 0.0f; });
    };
  }
  if (ModifierSat(i) != Sat::kNone || ModifierFtz(i) != Ftz::kNone ||
      ModifierIntegerRound(i) != IntegerRound::kNone)
    return nullptr;
  const bool nearest = ModifierRound(i) == Round::kNone || ModifierRound(i) == Round::kRn;
  const auto is = [&](Type d, Type a) { return i.type == d && i.source == a; };
  if (!nearest) return nullptr;
  if (is(Type::kU64, Type::kU32) || is(Type::kS64, Type::kU32)) return Cast<uint64_t, uint32_t>;
  if (is(Type::kS64, Type::kS32) || is(Type::kU64, Type::kS32)) return Cast<int64_t, int32_t>;
  if (is(Type::kU32, Type::kU64) || is(Type::kS32, Type::kS64)) return Cast<uint32_t, uint64_t>;
  if (is(Type::kU32, Type::kU16)) return Cast<uint32_t, uint16_t>;
  if (is(Type::kU16, Type::kU32)) return Cast<uint16_t, uint32_t>;
  if (is(Type::kF32, Type::kS32)) return Cast<float, int32_t>;
  if (is(Type::kF32, Type::kU32)) return Cast<float, uint32_t>;
  if (is(Type::kF32, Type::kBf16)) {
    return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
      if (s[0].bytes != 4 || s[1].bytes != 2) return ConvertLanes(w, in, s, m);
      Map<uint32_t, uint16_t>(
          w, s, m, [](uint16_t a) { return (a & 0x7fffu) > 0x7f80u ? kNan32 : uint32_t{a} << 16; });
    };
  }
  if (is(Type::kBf16, Type::kF32)) {
    return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
      if (s[0].bytes != 2 || s[1].bytes != 4) return ConvertLanes(w, in, s, m);
      Map<uint16_t, float>(w, s, m, FloatToBf16);
    };
  }
  return nullptr;
}

// tf32: 10 bits of fraction, ties away from zero for rna.
void ToTf32(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const Round round = ModifierRound(in);
  Map<uint32_t, uint32_t>(w, s, m, [&](uint32_t a) {
    if ((a & 0x7fffffff) > 0x7f800000) return kNan32;
    if ((a & 0x7fffffff) == 0x7f800000) return a;
    if (ModifierRelu(in) == Relu::kOn && (a >> 31) != 0) return uint32_t{0};
    if (round == Round::kRna) a += 0x1000;
    if (round == Round::kRn) a += 0xfff + (a >> 13 & 1);
    a &= ~uint32_t{0x1fff};
    if (ModifierSatfinite(in) == Satfinite::kOn && (a & 0x7fffffff) == 0x7f800000) a -= 0x2000;
    return a;
  });
}

NarrowFormat FormatOf(Type type) {
  switch (type) {
    case Type::kF16x2:
      return kFormatF16;
    case Type::kBf16x2:
      return kFormatBf16;
    case Type::kE4m3x2:
      return kFormatE4m3;
    default:
      return kFormatE5m2;
  }
}

uint32_t ToPart(const Instruction& in, double value) {
  const NarrowFormat format = FormatOf(in.type);
  if (ModifierRelu(in) == Relu::kOn && value < 0) value = 0;
  // e5m2 of NaN is 0x7f like e4m3's; a saturated NaN stays a NaN.
  return ToNarrow(value, format, ModifierRound(in), ModifierSatfinite(in) == Satfinite::kOn);
}

// d = {a in the upper half, b in the lower}.
void Pack(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const uint32_t bits = RowOf(in.type).bits / 2;
  const auto a = Read<float>(w, s[1]), b = Read<float>(w, s[2]);
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) != 0)
      WriteLane(w, s[0], l, uint64_t{ToPart(in, a.v[l])} << bits | ToPart(in, b.v[l]));
  }
}

void FromF8(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    const uint64_t bits = ReadLane(w, s[1], l);
    uint64_t result = 0;
    for (uint32_t p = 0; p < 2; ++p) {
      double value = FromNarrow(static_cast<uint32_t>(bits >> (8 * p) & 0xff), FormatOf(in.source));
      if (ModifierRelu(in) == Relu::kOn && value < 0) value = 0;
      result |= uint64_t{value != value ? kNan16 : ToNarrow(value, kFormatF16)} << (16 * p);
    }
    WriteLane(w, s[0], l, result);
  }
}

void ToF8(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    const uint64_t bits = ReadLane(w, s[1], l);
    const auto part = [&](uint32_t p) {
      return ToPart(in, HalfToFloat(static_cast<uint16_t>(bits >> (16 * p))));
    };
    WriteLane(w, s[0], l, uint64_t{part(1)} << 8 | part(0));
  }
}

}  // namespace

Step ConvertStep(const Instruction& i) {
  switch (i.operation) {
    case Operation::kCvt: {
      if (ModifierRound(i) == Round::kRna) return nullptr;
      const bool narrows = i.type == Type::kF16 || i.type == Type::kBf16;
      if (narrows && (ModifierRound(i) == Round::kRm || ModifierRound(i) == Round::kRp))
        return nullptr;
      // What is no integer needs a rounding on its way to one.
      if (IsFloat(i.source) && !IsFloat(i.type) && ModifierIntegerRound(i) == IntegerRound::kNone)
        return nullptr;
      const Step fast = FastStep(i);
      return fast != nullptr ? fast : ConvertLanes;
    }
    case Operation::kCvtTf32:
      return ModifierRound(i) == Round::kRm || ModifierRound(i) == Round::kRp ? nullptr : ToTf32;
    case Operation::kCvtPack: {
      const bool rounds = ModifierRound(i) == Round::kRn || ModifierRound(i) == Round::kRz;
      return rounds ? Pack : nullptr;
    }
    case Operation::kCvtFromF8:
      return ModifierRound(i) == Round::kRn ? FromF8 : nullptr;
    case Operation::kCvtToF8:
      return ModifierRound(i) == Round::kRn ? ToF8 : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace hloscope::ptx::inline HLOSCOPE_UNIT

#include "core/ptx/machine/unit_end.h"
