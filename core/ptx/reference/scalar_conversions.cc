// Conversions, one lane at a time.
#include <algorithm>
#include <bit>
#include <cmath>

#include "core/ptx/reference/scalar_parts.h"

namespace hloscope::ptx::reference {

namespace {

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

}  // namespace

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
      const uint32_t width = RowOf(in.type).bits;
      const uint64_t bits = in.source == Type::kF64 || width == 64 ? uint64_t{1} << (width - 1) : 0;
      v[0] = Cut(IntegerOf(in.type, bits), to_bits);
    } else {
      const double held = std::clamp(value, -0x1p100, 0x1p100);
      v[0] = Cut(Clamped(static_cast<Integer>(held), in.type), to_bits);
    }
    return true;
  }
  const Integer value = IntegerOf(in.source, v[1]);
  if (IsFloatType(in.type)) {
    const bool is_wide = in.type == Type::kF32 || in.type == Type::kF64;
    if (is_wide && round != Round::kRn) return false;
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
  if (SmallConversion(in, v)) return true;
  Type part = Type::kF16;
  if (in.type == Type::kBf16x2 || in.type == Type::kBf16) part = Type::kBf16;
  if (in.type == Type::kE4m3x2) part = Type::kE4m3;
  if (in.type == Type::kE5m2x2) part = Type::kE5m2;
  const uint32_t bits = RowOf(part).bits;
  const bool saturates = ModifierSatfinite(in) == Satfinite::kOn;
  const auto round = [&](double value) {
    if (ModifierRelu(in) == Relu::kOn && value <= 0) value = 0;
    return BitsOf(part, value, ModifierRound(in), saturates);
  };
  switch (in.operation) {
    case Operation::kCvtPack:
      if (IsFloatType(in.type)) {
        v[0] = round(NumberOf(Type::kF32, v[1]));
        return true;
      }
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
  const bool is_finite = ModifierSatfinite(in) == Satfinite::kOn;
  const auto limited = [&](double result) {
    if (ModifierRelu(in) == Relu::kOn && std::signbit(result)) return 0.0;
    const double largest = std::ldexp(2 - 0x1p-10, 127);
    return is_finite ? std::clamp(result, -largest, largest) : result;
  };
  if (std::isnan(value)) {
    v[0] = 0x7fffffff;
  } else if (std::isinf(value)) {
    v[0] = std::bit_cast<uint32_t>(static_cast<float>(limited(value)));
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
    v[0] = std::bit_cast<uint32_t>(static_cast<float>(limited(rounded)));
  }
  return true;
}

}  // namespace hloscope::ptx::reference
