// Arithmetic of integers.
#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "core/ptx/machine/lane_macros.h"
#include "core/ptx/machine/steps.h"
#include "core/ptx/machine/unit_begin.h"

namespace hloscope::ptx::inline HLOSCOPE_UNIT {
namespace {

template <typename T>
using U = std::make_unsigned_t<T>;

// Arithmetic wraps: it is done in an unsigned type of at least 32 bits.
template <typename T>
using Wide = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <typename T>
T HighProduct(T a, T b) {
  using Product =
      std::conditional_t<sizeof(T) == 8,
                         std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>,
                         std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
  return static_cast<T>(static_cast<Product>(a) * static_cast<Product>(b) >> (8 * sizeof(T)));
}

// Division by zero gives all ones, as GPUs do; the smallest by -1 wraps. A quotient of integers up
// to 32 bits is nearer to itself in double than to any other.
template <typename T>
T Quotient(T a, T b) {
  if constexpr (sizeof(T) < 8) {
    const double exact = static_cast<double>(a) / static_cast<double>(b == 0 ? T{1} : b);
    return b == 0 ? static_cast<T>(-1) : static_cast<T>(static_cast<int64_t>(exact));
  } else {
    if (b == 0) return static_cast<T>(-1);
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return static_cast<T>(0 - static_cast<U<T>>(a));
    }
    return static_cast<T>(a / b);
  }
}

template <typename T>
T Remainder(T a, T b) {
  if constexpr (sizeof(T) < 8) {
    const auto product = static_cast<Wide<T>>(Quotient(a, b)) * static_cast<Wide<T>>(b);
    return b == 0 ? a : static_cast<T>(static_cast<Wide<T>>(a) - product);
  } else {
    if (b == 0) return a;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
    }
    return static_cast<T>(a % b);
  }
}

template <typename T>
T SaturatedSum(T a, T b, bool subtract) {
  T r;
  const bool over = subtract ? __builtin_sub_overflow(a, b, &r) : __builtin_add_overflow(a, b, &r);
  if (!over) return r;
  return a < 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
}

template <typename T>
T ShiftRight(T a, uint32_t b) {
  constexpr uint32_t kBits = 8 * sizeof(T);
  if (b >= kBits) return std::is_signed_v<T> && a < 0 ? static_cast<T>(-1) : T{0};
  return static_cast<T>(a >> b);
}

// Bits beyond the top of `a` and beyond the length are the sign (0 for unsigned types).
template <typename T>
T ExtractBits(T a, uint32_t b, uint32_t c) {
  constexpr uint32_t kBits = 8 * sizeof(T);
  const uint32_t at = b & 0xff, length = c & 0xff;
  if (length == 0) return 0;
  const U<T> bits = static_cast<U<T>>(a);
  const bool sign = std::is_signed_v<T> && (bits >> std::min(at + length - 1, kBits - 1) & 1) != 0;
  const uint32_t taken = at >= kBits ? 0 : std::min(length, kBits - at);
  const U<T> ones =
      taken == kBits ? static_cast<U<T>>(~U<T>{0}) : static_cast<U<T>>((U<T>{1} << taken) - 1);
  U<T> result = taken == 0 ? U<T>{0} : static_cast<U<T>>((bits >> at) & ones);
  if (sign) result = static_cast<U<T>>(result | static_cast<U<T>>(~ones));
  return static_cast<T>(result);
}

template <typename T>
T InsertBits(T a, T b, uint32_t at, uint32_t length) {
  constexpr uint32_t kBits = 8 * sizeof(T);
  at &= 0xff;
  length &= 0xff;
  T ones = length >= kBits ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << length) - 1);
  if (at >= kBits) return b;
  ones = static_cast<T>(ones << at);
  return static_cast<T>((b & ~ones) | ((a << at) & ones));
}

template <typename T>
T ReverseBits(T a) {
  T r = 0;
  for (uint32_t i = 0; i < 8 * sizeof(T); ++i) r = static_cast<T>(r << 1 | (a >> i & 1));
  return r;
}

template <typename T>
Step Arithmetic(const Instruction& i, Tag<T>) {
  const bool high = ModifierHalf(i) == Half::kHi;
  using W = Wide<T>;
  switch (i.operation) {
    case Operation::kAdd:
      if (ModifierSat(i) == Sat::kOn) {
        if (i.type != Type::kS32) return nullptr;
        LANES2(int32_t, int32_t, int32_t, SaturatedSum(a, b, false));
      }
      LANES2(T, T, T, static_cast<W>(a) + static_cast<W>(b));
    case Operation::kSub:
      if (ModifierSat(i) == Sat::kOn) {
        if (i.type != Type::kS32) return nullptr;
        LANES2(int32_t, int32_t, int32_t, SaturatedSum(a, b, true));
      }
      LANES2(T, T, T, static_cast<W>(a) - static_cast<W>(b));
    case Operation::kMul:
      if (high) LANES2(T, T, T, HighProduct(a, b));
      LANES2(T, T, T, static_cast<W>(a) * static_cast<W>(b));
    case Operation::kMad:
      if (high) LANES3(T, T, T, T, static_cast<W>(HighProduct(a, b)) + static_cast<W>(c));
      LANES3(T, T, T, T, static_cast<W>(a) * static_cast<W>(b) + static_cast<W>(c));
    case Operation::kDiv:
      LANES2(T, T, T, Quotient(a, b));
    case Operation::kRem:
      LANES2(T, T, T, Remainder(a, b));
    case Operation::kMin:
      LANES2(T, T, T, std::min(a, b));
    case Operation::kMax:
      LANES2(T, T, T, std::max(a, b));
    case Operation::kNeg:
      LANES(T, T, W{0} - static_cast<W>(a));
    case Operation::kAbs:
      LANES(T, T, a < T{0} ? W{0} - static_cast<W>(a) : static_cast<W>(a));
    case Operation::kShr:
      LANES2(T, T, uint32_t, ShiftRight(a, b));
    case Operation::kShl:
      LANES2(T, T, uint32_t, b >= 8 * sizeof(T) ? W{0} : static_cast<W>(a) << b);
    case Operation::kPopc:
      LANES(uint32_t, T, std::popcount(static_cast<U<T>>(a)));
    case Operation::kClz:
      LANES(uint32_t, T, std::countl_zero(static_cast<U<T>>(a)));
    case Operation::kBrev:
      LANES(T, T, ReverseBits(static_cast<U<T>>(a)));
    case Operation::kBfe:
      LANES3(T, T, uint32_t, uint32_t, ExtractBits(a, b, c));
    case Operation::kBfi:
      return [](Warp& w, const Instruction&, const Slot* s, uint32_t m) {
        const auto length = Read<uint32_t>(w, s[4]);
        const auto a = Read<U<T>>(w, s[1]), b = Read<U<T>>(w, s[2]);
        const auto at = Read<uint32_t>(w, s[3]);
        Values<U<T>> d;
        for (uint32_t l = 0; l < kLanes; ++l)
          d.v[l] = InsertBits(a.v[l], b.v[l], at.v[l], length.v[l]);
        Write(w, s[0], d, m);
      };
    default:
      return nullptr;
  }
}

// Both halves of a register, each by itself.
template <typename T, typename F>
uint32_t InHalves(uint32_t a, uint32_t b, F f) {
  const auto low = static_cast<uint16_t>(f(static_cast<T>(a), static_cast<T>(b)));
  const auto high = static_cast<uint16_t>(f(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
  return low | static_cast<uint32_t>(high) << 16;
}

template <typename T>
Step HalvesStep(const Instruction& i, Tag<T>) {
  switch (i.operation) {
    case Operation::kAdd:
      LANES2(uint32_t, uint32_t, uint32_t, InHalves<T>(a, b, [](T x, T y) { return x + y; }));
    case Operation::kMin:
      LANES2(uint32_t, uint32_t, uint32_t,
             InHalves<T>(a, b, [](T x, T y) { return std::min(x, y); }));
    case Operation::kMax:
      LANES2(uint32_t, uint32_t, uint32_t,
             InHalves<T>(a, b, [](T x, T y) { return std::max(x, y); }));
    default:
      return nullptr;
  }
}

template <typename T>
Step WideProduct(const Instruction& i, Tag<T>) {
  if constexpr (sizeof(T) <= 4) {
    using D = std::conditional_t<sizeof(T) == 2,
                                 std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
                                 std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
    if (i.operation == Operation::kMulWide) LANES2(D, T, T, static_cast<D>(a) * static_cast<D>(b));
    LANES3(D, T, T, D,
           static_cast<U<D>>(static_cast<D>(a) * static_cast<D>(b)) + static_cast<U<D>>(c));
  }
  return nullptr;
}

// add.cc, addc, mad.cc, madc: the carry of each lane goes through a flag of the warp.
template <typename T>
Step CarryStep(const Instruction& i, Tag<T>) {
  (void)i;
  return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
    using V = U<T>;
    const bool is_mad =
        in.operation == Operation::kMadCarry || in.operation == Operation::kMadWithCarry;
    const bool takes =
        in.operation == Operation::kAddWithCarry || in.operation == Operation::kMadWithCarry;
    const auto a = Read<T>(w, s[1]), b = Read<T>(w, s[2]);
    const auto c = Read<V>(w, s[is_mad ? 3 : 2]);
    Values<V> d;
    uint32_t carry = 0;
    for (uint32_t l = 0; l < kLanes; ++l) {
      V first = static_cast<V>(a.v[l]);
      if (is_mad) {
        first = ModifierHalf(in) == Half::kHi
                    ? static_cast<V>(HighProduct(a.v[l], b.v[l]))
                    : static_cast<V>(static_cast<V>(a.v[l]) * static_cast<V>(b.v[l]));
      }
      const V incoming = takes ? static_cast<V>(w.carry >> l & 1) : V{0};
      const V sum = static_cast<V>(first + c.v[l]);
      d.v[l] = static_cast<V>(sum + incoming);
      if (sum < first || d.v[l] < sum) carry |= 1u << l;
    }
    Write(w, s[0], d, m);
    if (ModifierCarry(in) == Carry::kOut) w.carry = (w.carry & ~m) | (carry & m);
  };
}

// sub.cc, subc: likewise; the flag is a borrow.
template <typename T>
Step BorrowStep(const Instruction& i, Tag<T>) {
  (void)i;
  return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
    using V = U<T>;
    const bool takes = in.operation == Operation::kSubWithCarry;
    const auto a = Read<V>(w, s[1]), b = Read<V>(w, s[2]);
    Values<V> d;
    uint32_t borrow = 0;
    for (uint32_t l = 0; l < kLanes; ++l) {
      const V incoming = takes ? static_cast<V>(w.carry >> l & 1) : V{0};
      d.v[l] = static_cast<V>(a.v[l] - b.v[l] - incoming);
      if (a.v[l] < b.v[l] || (a.v[l] == b.v[l] && incoming != 0)) borrow |= 1u << l;
    }
    Write(w, s[0], d, m);
    if (ModifierCarry(in) == Carry::kOut) w.carry = (w.carry & ~m) | (borrow & m);
  };
}

}  // namespace

Step IntegerStep(const Instruction& i) {
  if (i.type == Type::kU16x2) return HalvesStep(i, Tag<uint16_t>{});
  if (i.type == Type::kS16x2) return HalvesStep(i, Tag<int16_t>{});
  switch (i.operation) {
    case Operation::kMulWide:
    case Operation::kMadWide:
      return ForInteger(i.type, [&](auto tag) { return WideProduct(i, tag); });
    case Operation::kAddCarry:
    case Operation::kAddWithCarry:
    case Operation::kMadCarry:
    case Operation::kMadWithCarry:
      return ForInteger(i.type, [&](auto tag) { return CarryStep(i, tag); });
    case Operation::kSubCarry:
    case Operation::kSubWithCarry:
      return ForInteger(i.type, [&](auto tag) { return BorrowStep(i, tag); });
    default:
      return ForInteger(i.type, [&](auto tag) { return Arithmetic(i, tag); });
  }
}

}  // namespace hloscope::ptx::inline HLOSCOPE_UNIT

#include "core/ptx/machine/unit_end.h"
