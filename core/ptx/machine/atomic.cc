// Atomics of all types.
#include "core/ptx/machine/atomic.h"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "core/ptx/machine/rounding.h"

namespace hloscope::ptx {
namespace {

template <typename T>
T Changed(Atomic atomic, T old, T value) {
  switch (atomic) {
    case Atomic::kAdd:
      return static_cast<T>(old + value);
    case Atomic::kMin:
      return std::min(old, value);
    case Atomic::kMax:
      return std::max(old, value);
    case Atomic::kExch:
      return value;
    case Atomic::kInc:
      return old >= value ? T{0} : static_cast<T>(old + 1);
    case Atomic::kDec:
      return old == 0 || old > value ? value : static_cast<T>(old - 1);
    default:
      return old;
  }
}

uint16_t SumOfHalves(bool half, uint16_t a, uint16_t b) {
  const double sum = half ? double{HalfToFloat(a)} + double{HalfToFloat(b)}
                          : SumToOdd(Bf16ToFloat(a), Bf16ToFloat(b));
  return static_cast<uint16_t>(ToNarrow(sum, half ? kFormatF16 : kFormatBf16));
}

// As min and max without .NaN: -0 is less than +0, and a number is taken before a NaN.
uint16_t ExtremeOfHalves(bool half, Atomic atomic, uint16_t a, uint16_t b) {
  const auto value = [&](uint16_t bits) { return half ? HalfToFloat(bits) : Bf16ToFloat(bits); };
  const float x = value(a), y = value(b);
  if (x != x || y != y) return x == x ? a : y == y ? b : kNan16;
  const bool takes_b =
      x != y ? (x < y) == (atomic == Atomic::kMax) : (a >> 15 != 0) == (atomic == Atomic::kMax);
  return takes_b ? b : a;
}

uint64_t ChangedHalves(const Instruction& in, uint64_t old, uint64_t value) {
  const bool half = in.type == Type::kF16 || in.type == Type::kF16x2;
  uint64_t result = 0;
  for (uint32_t p = 0; p < BytesOf(in.type) / 2; ++p) {
    const auto a = static_cast<uint16_t>(old >> (16 * p)),
               b = static_cast<uint16_t>(value >> (16 * p));
    const uint64_t changed = ModifierAtomic(in) == Atomic::kAdd
                                 ? SumOfHalves(half, a, b)
                                 : ExtremeOfHalves(half, ModifierAtomic(in), a, b);
    result |= changed << (16 * p);
  }
  return result;
}

}  // namespace

uint64_t AtomicResult(const Instruction& in, uint64_t old, uint64_t value, uint64_t other) {
  if (in.operation == Operation::kAtomCas) return old == value ? other : old;
  const Atomic atomic = ModifierAtomic(in);
  if (atomic == Atomic::kAnd) return old & value;
  if (atomic == Atomic::kOr) return old | value;
  if (atomic == Atomic::kXor) return old ^ value;
  const auto as = [&]<typename T>(std::type_identity<T>) {
    return static_cast<uint64_t>(Changed(atomic, static_cast<T>(old), static_cast<T>(value)));
  };
  switch (in.type) {
    case Type::kS32:
      return as(std::type_identity<int32_t>{});
    case Type::kS64:
      return as(std::type_identity<int64_t>{});
    case Type::kB32:
    case Type::kU32:
      return as(std::type_identity<uint32_t>{});
    case Type::kB64:
    case Type::kU64:
      return as(std::type_identity<uint64_t>{});
    case Type::kF32:
      return std::bit_cast<uint32_t>(
          Compute32(Arithmetic::kAdd, std::bit_cast<float>(static_cast<uint32_t>(old)),
                    std::bit_cast<float>(static_cast<uint32_t>(value)), 0, Round::kRn));
    case Type::kF64:
      return std::bit_cast<uint64_t>(std::bit_cast<double>(old) + std::bit_cast<double>(value));
    default:
      return ChangedHalves(in, old, value);
  }
}

}  // namespace hloscope::ptx
