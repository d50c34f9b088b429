// Conversions between all types. Integers saturate, NaN becomes what cvt says.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/ptx/machine/float_lanes.h"
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
  // Of an f64, or to 64 bits, the top bit alone.
  const bool is_long = in.source == Type::kF64 || width == 64;
  if (value != value) return is_long ? uint64_t{1} << (width - 1) : 0;
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

// The frequent ones on registers of exactly their types: d = f(a).
#define CONVERT(D, A, expression)                                                             \
  return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {                      \
    if (s[0].bytes != sizeof(D) || s[1].bytes != sizeof(A)) return ConvertLanes(w, in, s, m); \
    Map<D, A>(w, s, m, [](A a) { return static_cast<D>(expression); });                       \
  }

// An integral f32 within the bounds of an integer type of 32 bits; NaN gives 0.
template <typename D>
D Bounded(double a) {
  constexpr double kLow = std::numeric_limits<D>::min(), kHigh = std::numeric_limits<D>::max();
  a = a < kLow ? kLow : a;
  a = a > kHigh ? kHigh : a;
  return static_cast<D>(static_cast<int64_t>(a != a ? 0 : a));
}

// Of an f32 to an integer, as an f32 or in 32 bits.
Step IntegralStep(const Instruction& i) {
  const IntegerRound round = ModifierIntegerRound(i);
  const bool down = round == IntegerRound::kRmi, up = round == IntegerRound::kRpi,
             nearest = round == IntegerRound::kRni;
  switch (i.type) {
    case Type::kF32:
      if (nearest) CONVERT(float, float, Canonical(std::nearbyint(a)));
      if (down) CONVERT(float, float, Canonical(std::floor(a)));
      if (up) CONVERT(float, float, Canonical(std::ceil(a)));
      CONVERT(float, float, Canonical(std::trunc(a)));
    case Type::kS32:
      if (nearest) CONVERT(int32_t, float, Bounded<int32_t>(std::nearbyint(a)));
      if (down) CONVERT(int32_t, float, Bounded<int32_t>(std::floor(a)));
      if (up) CONVERT(int32_t, float, Bounded<int32_t>(std::ceil(a)));
      CONVERT(int32_t, float, Bounded<int32_t>(a));
    case Type::kU32:
      if (nearest) CONVERT(uint32_t, float, Bounded<uint32_t>(std::nearbyint(a)));
      if (down) CONVERT(uint32_t, float, Bounded<uint32_t>(std::floor(a)));
      if (up) CONVERT(uint32_t, float, Bounded<uint32_t>(std::ceil(a)));
      CONVERT(uint32_t, float, Bounded<uint32_t>(a));
    default:
      return nullptr;
  }
}

Step FastStep(const Instruction& i) {
  const bool to_nearest = ModifierRound(i) == Round::kNone || ModifierRound(i) == Round::kRn;
  if (ModifierFtz(i) != Ftz::kNone || !to_nearest) return nullptr;
  const auto is = [&](Type d, Type a) { return i.type == d && i.source == a; };
  if (ModifierSat(i) != Sat::kNone) {
    if (is(Type::kF32, Type::kF32) && ModifierIntegerRound(i) == IntegerRound::kNone)
      CONVERT(float, float, Clamped(a));
    return nullptr;
  }
  if (ModifierIntegerRound(i) != IntegerRound::kNone)
    return i.source == Type::kF32 ? IntegralStep(i) : nullptr;
  if (is(Type::kU64, Type::kU32) || is(Type::kS64, Type::kU32)) CONVERT(uint64_t, uint32_t, a);
  if (is(Type::kS64, Type::kS32) || is(Type::kU64, Type::kS32)) CONVERT(int64_t, int32_t, a);
  if (is(Type::kU32, Type::kU64) || is(Type::kS32, Type::kS64)) CONVERT(uint32_t, uint64_t, a);
  if (is(Type::kU32, Type::kU16) || is(Type::kS32, Type::kU16)) CONVERT(uint32_t, uint16_t, a);
  if (is(Type::kS32, Type::kS16)) CONVERT(int32_t, int16_t, a);
  if (is(Type::kU16, Type::kU32)) CONVERT(uint16_t, uint32_t, a);
  if (is(Type::kF32, Type::kS32)) CONVERT(float, int32_t, a);
  if (is(Type::kF32, Type::kU32)) CONVERT(float, uint32_t, a);
  if (is(Type::kF32, Type::kBf16)) CONVERT(float, uint16_t, Canonical(Bf16ToFloat(a)));
  if (is(Type::kF32, Type::kF16)) CONVERT(float, uint16_t, Canonical(HalfToFloat(a)));
  if (is(Type::kBf16, Type::kF32)) CONVERT(uint16_t, float, FloatToBf16(a));
  if (is(Type::kF16, Type::kF32)) CONVERT(uint16_t, float, FloatToHalf(a));
  if (is(Type::kF32, Type::kF64)) CONVERT(float, double, Canonical(static_cast<float>(a)));
  return nullptr;
}

// tf32: 10 bits of fraction, ties away from zero for rna. Of infinity .satfinite makes the largest
// number, and .relu zero where it is negative.
template <Round kRound, bool kRelu, bool kSatfinite>
uint32_t Tf32Of(uint32_t a) {
  uint32_t rounded = kRound == Round::kRna  ? a + 0x1000
                     : kRound == Round::kRn ? a + 0xfff + (a >> 13 & 1)
                                            : a;
  rounded &= ~uint32_t{0x1fff};
  if (kSatfinite) rounded = (rounded & 0x7fffffff) == 0x7f800000 ? rounded - 0x2000 : rounded;
  if (kRelu) rounded = a >> 31 != 0 ? 0 : rounded;
  return (a & 0x7fffffff) > 0x7f800000 ? kNan32 : rounded;
}

template <Round kRound>
Step Tf32Rounded(const Instruction& i) {
  const bool relu = ModifierRelu(i) == Relu::kOn,
             saturates = ModifierSatfinite(i) == Satfinite::kOn;
  if (relu && saturates) CONVERT(uint32_t, uint32_t, (Tf32Of<kRound, true, true>(a)));
  if (relu) CONVERT(uint32_t, uint32_t, (Tf32Of<kRound, true, false>(a)));
  if (saturates) CONVERT(uint32_t, uint32_t, (Tf32Of<kRound, false, true>(a)));
  CONVERT(uint32_t, uint32_t, (Tf32Of<kRound, false, false>(a)));
}
#undef CONVERT

Step Tf32Step(const Instruction& i) {
  switch (ModifierRound(i)) {
    case Round::kRna:
      return Tf32Rounded<Round::kRna>(i);
    case Round::kRn:
      return Tf32Rounded<Round::kRn>(i);
    case Round::kRz:
      return Tf32Rounded<Round::kRz>(i);
    default:
      return nullptr;
  }
}

NarrowFormat FormatOf(Type type) {
  switch (type) {
    case Type::kF16:
    case Type::kF16x2:
      return kFormatF16;
    case Type::kBf16:
    case Type::kBf16x2:
      return kFormatBf16;
    case Type::kE4m3x2:
      return kFormatE4m3;
    case Type::kE2m3x2:
      return kFormatE2m3;
    case Type::kE3m2x2:
      return kFormatE3m2;
    case Type::kE2m1x2:
      return kFormatE2m1;
    default:
      return kFormatE5m2;
  }
}

uint32_t ToPart(const Instruction& in, double value) {
  const NarrowFormat format = FormatOf(in.type);
  if (ModifierRelu(in) == Relu::kOn && value <= 0) value = 0;  // -0 too
  // e5m2 of NaN is 0x7f like e4m3's; a saturated NaN stays a NaN.
  return ToNarrow(value, format, ModifierRound(in), ModifierSatfinite(in) == Satfinite::kOn);
}

// One number.
void ConvertPart(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const auto a = Read<float>(w, s[1]);
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) != 0) WriteLane(w, s[0], l, ToPart(in, a.v[l]));
  }
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

// The frequent one: to nearest, infinities stay.
template <uint16_t (*kNarrow)(float)>
void PackLanes(Warp& w, const Instruction&, const Slot* s, uint32_t m) {
  Map<uint32_t, float, float>(
      w, s, m, [](float a, float b) { return uint32_t{kNarrow(a)} << 16 | kNarrow(b); });
}

Step PackStep(const Instruction& i) {
  const bool is_small = RowOf(i.type).bits < 32 && RowOf(i.type).kind == TypeKind::kPacked;
  if (ModifierRound(i) != Round::kRn && (is_small || ModifierRound(i) != Round::kRz))
    return nullptr;
  if (RowOf(i.type).kind == TypeKind::kFloat) return ConvertPart;
  const bool plain = ModifierRound(i) == Round::kRn && ModifierRelu(i) == Relu::kNone &&
                     ModifierSatfinite(i) == Satfinite::kNone;
  if (plain && i.type == Type::kBf16x2) return PackLanes<FloatToBf16>;
  if (plain && i.type == Type::kF16x2) return PackLanes<FloatToHalf>;
  return Pack;
}

void UnpackSmall(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const uint32_t width = RowOf(in.source).bits / 2;
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    const uint64_t bits = ReadLane(w, s[1], l);
    uint64_t result = 0;
    for (uint32_t p = 0; p < 2; ++p) {
      const auto part = static_cast<uint32_t>(bits >> (width * p) & ((1u << width) - 1));
      double value = FromNarrow(part, FormatOf(in.source));
      if (ModifierRelu(in) == Relu::kOn && value <= 0) value = 0;
      result |= uint64_t{value != value ? kNan16 : ToNarrow(value, kFormatF16)} << (16 * p);
    }
    WriteLane(w, s[0], l, result);
  }
}

void PackSmall(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    const uint64_t bits = ReadLane(w, s[1], l);
    const auto part = [&](uint32_t p) {
      return ToPart(in, HalfToFloat(static_cast<uint16_t>(bits >> (16 * p))));
    };
    WriteLane(w, s[0], l, uint64_t{part(1)} << (RowOf(in.type).bits / 2) | part(0));
  }
}

}  // namespace

Step ConvertStep(const Instruction& i) {
  switch (i.operation) {
    case Operation::kCvt: {
      if (ModifierRound(i) == Round::kRna) return nullptr;
      // What is no integer needs a rounding on its way to one.
      if (IsFloat(i.source) && !IsFloat(i.type) && ModifierIntegerRound(i) == IntegerRound::kNone)
        return nullptr;
      const Step fast = FastStep(i);
      return fast != nullptr ? fast : ConvertLanes;
    }
    case Operation::kCvtTf32:
      return Tf32Step(i);
    case Operation::kCvtPack:
      return PackStep(i);
    case Operation::kCvtFromF8:
      return ModifierRound(i) == Round::kRn ? UnpackSmall : nullptr;
    case Operation::kCvtToF8:
      return ModifierRound(i) == Round::kRn ? PackSmall : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace hloscope::ptx::inline HLOSCOPE_UNIT

#include "core/ptx/machine/unit_end.h"
