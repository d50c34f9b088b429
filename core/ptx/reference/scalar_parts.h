// Parts of the second implementation: instructions by what they compute, and what all of them need.
// Each takes its values as ComputeScalar does.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "core/ptx/reference/numbers.h"

namespace hloscope::ptx::reference {

using Integer = __int128;

inline bool IsFloatType(Type type) { return RowOf(type).kind == TypeKind::kFloat; }

inline uint64_t Cut(Integer value, uint32_t bits) {
  const auto low = static_cast<uint64_t>(value);
  return bits >= 64 ? low : low & ((uint64_t{1} << bits) - 1);
}

// Of a float type whose subnormals count as zero where the instruction says so.
inline double Flushed(const Instruction& in, double value) {
  const Type type =
      RowOf(in.source).bits == 16 && in.operation == Operation::kSet ? in.source : in.type;
  const bool half = type == Type::kF16 || type == Type::kF16x2;
  const bool flushes =
      ModifierFtz(in) == Ftz::kOn && std::fabs(value) < (half ? 0x1p-14 : 0x1p-126);
  return flushes ? std::copysign(0.0, value) : value;
}

// Halves of packed types: the type of one, and how many.
struct Parts {
  Type type;
  uint32_t count, bits;
};
inline Parts PartsOf(Type type) {
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

inline uint64_t OnePart(uint64_t bits, const Parts& parts, uint32_t p) {
  return Cut(static_cast<Integer>(bits >> (parts.bits * p)), parts.bits);
}

template <typename F>
uint64_t EachPart(const Parts& parts, F f) {
  uint64_t out = 0;
  for (uint32_t p = 0; p < parts.count; ++p) out |= f(p) << (parts.bits * p);
  return out;
}

inline uint64_t Finish(const Instruction& in, Type type, uint64_t bits) {
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
  if (type == Type::kF16 && in.type != Type::kF32 && ModifierFtz(in) == Ftz::kOn &&
      in.operation != Operation::kCvt && std::fabs(value) < 0x1p-14)
    return bits & 0x8000;
  return bits;
}

inline Integer Clamped(Integer value, Type type) {
  const uint32_t width = RowOf(type).bits;
  const bool is_signed = RowOf(type).kind == TypeKind::kSigned;
  const Integer one = 1;
  const Integer most = (one << (is_signed ? width - 1 : width)) - 1;
  return std::clamp<Integer>(value, is_signed ? -most - 1 : 0, most);
}

// Floats.
bool FloatArithmetic(const Instruction& in, std::span<uint64_t> v);
bool FloatChoice(const Instruction& in, std::span<uint64_t> v);
bool FloatSign(const Instruction& in, std::span<uint64_t> v);
bool FloatFunction(const Instruction& in, std::span<uint64_t> v);
// Conversions.
bool Conversion(const Instruction& in, std::span<const Slot> slots, std::span<uint64_t> v);
bool PackedConversion(const Instruction& in, std::span<uint64_t> v);
bool SmallConversion(const Instruction& in, std::span<uint64_t> v);
bool ToTf32(const Instruction& in, std::span<uint64_t> v);
// Integers, bits, addresses.
bool CarryArithmetic(const Instruction& in, std::span<uint64_t> v, bool& carry);
bool BorrowArithmetic(const Instruction& in, std::span<uint64_t> v, bool& borrow);
bool IntegerArithmetic(const Instruction& in, std::span<const Slot> slots, std::span<uint64_t> v);
bool BitwiseOperation(const Instruction& in, std::span<const Slot> slots, std::span<uint64_t> v);
bool Repack(const Instruction& in, std::span<const Slot> slots, std::span<uint64_t> v);
bool RareOperation(const Instruction& in, std::span<uint64_t> v);
bool Address(const Instruction& in, std::span<uint64_t> v);

}  // namespace hloscope::ptx::reference
