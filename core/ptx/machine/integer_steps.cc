// Integers, bits, moves and their comparisons.
#include <bit>
#include <limits>
#include <type_traits>

#include "core/ptx/machine/lanes.h"
#include "core/ptx/machine/steps.h"

namespace hloscope::ptx {
namespace {

template <typename T>
using U = std::make_unsigned_t<T>;

// Arithmetic wraps: it is done in an unsigned type of at least 32 bits.
template <typename T>
using Wide = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

#define LANES(D, A, expression)                                         \
  return [](Warp& w, const Instruction&, const Slot* s, uint32_t m) {   \
    Map<D, A>(w, s, m, [](A a) { return static_cast<D>(expression); }); \
  }
#define LANES2(D, A, B, expression)                                             \
  return [](Warp& w, const Instruction&, const Slot* s, uint32_t m) {           \
    Map<D, A, B>(w, s, m, [](A a, B b) { return static_cast<D>(expression); }); \
  }
#define LANES3(D, A, B, C, expression)                                                  \
  return [](Warp& w, const Instruction&, const Slot* s, uint32_t m) {                   \
    Map<D, A, B, C>(w, s, m, [](A a, B b, C c) { return static_cast<D>(expression); }); \
  }

template <typename T>
T HighProduct(T a, T b) {
  using Product = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  return static_cast<T>(static_cast<Product>(a) * static_cast<Product>(b) >> (8 * sizeof(T)));
}

// Division by zero gives all ones, as GPUs do; the smallest by -1 wraps.
template <typename T>
T Quotient(T a, T b) {
  if (b == 0) return static_cast<T>(-1);
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return static_cast<T>(0 - static_cast<U<T>>(a));
  }
  return static_cast<T>(a / b);
}

template <typename T>
T Remainder(T a, T b) {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return static_cast<T>(a % b);
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

uint32_t Permute(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t both = uint64_t{b} << 32 | a;
  uint32_t result = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t choice = selector >> (4 * i) & 0xf;
    uint32_t byte = static_cast<uint32_t>(both >> (8 * (choice & 7)) & 0xff);
    if ((choice & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  return result;
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

template <typename T>
Step Bitwise(const Instruction& i) {
  switch (i.operation) {
    case Operation::kAnd:
      LANES2(T, T, T, a & b);
    case Operation::kOr:
      LANES2(T, T, T, a | b);
    case Operation::kXor:
      LANES2(T, T, T, a ^ b);
    case Operation::kNot:
      LANES(T, T, ~a);
    case Operation::kMov:
    case Operation::kCvta:
      return [](Warp& w, const Instruction&, const Slot* s, uint32_t m) {
        Write(w, s[0], Read<T>(w, s[1]), m);
      };
    case Operation::kSelp:
      return [](Warp& w, const Instruction&, const Slot* s, uint32_t m) {
        const uint32_t choice = ReadMask(w, s[3]);
        const auto a = Read<T>(w, s[1]), b = Read<T>(w, s[2]);
        Values<T> d;
        for (uint32_t l = 0; l < kLanes; ++l) d.v[l] = (choice >> l & 1) != 0 ? a.v[l] : b.v[l];
        Write(w, s[0], d, m);
      };
    default:
      return nullptr;
  }
}

Step OnPredicates(const Instruction& i) {
#define MASKS(expression)                                              \
  return [](Warp& w, const Instruction&, const Slot* s, uint32_t m) {  \
    const uint32_t a = ReadMask(w, s[1]);                              \
    [[maybe_unused]] const auto b = [&] { return ReadMask(w, s[2]); }; \
    WriteMask(w, s[0], expression, m);                                 \
  }
  switch (i.operation) {
    case Operation::kAnd:
      MASKS(a & b());
    case Operation::kOr:
      MASKS(a | b());
    case Operation::kXor:
      MASKS(a ^ b());
    case Operation::kNot:
      MASKS(~a);
    case Operation::kMov:
      MASKS(a);
    default:
      return nullptr;
  }
#undef MASKS
}

template <typename T>
bool Holds(Compare compare, T a, T b) {
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

// lo, ls, hi, hs are the unsigned comparisons, the floating-point ones do not apply.
template <typename T>
Step CompareStep(const Instruction& i, Tag<T>) {
  if (ModifierCompare(i) > Compare::kHs) return nullptr;
  return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
    const auto a = Read<T>(w, s[2]), b = Read<T>(w, s[3]);
    const Compare compare = ModifierCompare(in);
    uint32_t result = 0;
    for (uint32_t l = 0; l < kLanes; ++l)
      result |= static_cast<uint32_t>(Holds(compare, a.v[l], b.v[l])) << l;
    uint32_t other = ~result;
    if (ModifierBool(in) != Bool::kNone) {
      const uint32_t c = ReadMask(w, s[4]);
      const auto combine = [&](uint32_t x) {
        return ModifierBool(in) == Bool::kAnd  ? x & c
               : ModifierBool(in) == Bool::kOr ? x | c
                                               : x ^ c;
      };
      result = combine(result);
      other = combine(other);
    }
    WriteMask(w, s[0], result, m);
    WriteMask(w, s[1], other, m);
  };
}

// Generic addresses of .shared and .local carry their window, those in the space itself do not.
Step AddressStep(const Instruction& i) {
  switch (ModifierStateSpace(i)) {
    case StateSpace::kGlobal:
    case StateSpace::kConst:
      return Bitwise<uint64_t>(i);
    case StateSpace::kParam:
    case StateSpace::kParamEntry:
    case StateSpace::kShared:
    case StateSpace::kSharedCta:
    case StateSpace::kLocal:
      break;
    default:
      return nullptr;
  }
  return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
    const StateSpace space = ModifierStateSpace(in);
    const uint64_t window = space == StateSpace::kLocal ? kLocalWindow
                            : space == StateSpace::kParam || space == StateSpace::kParamEntry
                                ? kParamWindow
                                : kSharedWindow;
    const uint64_t base = window << kWindowShift;
    const bool to = ModifierTo(in) == To::kSpace;
    Map<uint64_t, uint64_t>(w, s, m, [&](uint64_t a) { return to ? a - base : a + base; });
  };
}

Step SplitStep(const Instruction& i) {
  if (i.operation == Operation::kPack) {
    return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
      for (uint32_t l = 0; l < kLanes; ++l) {
        if ((m >> l & 1) == 0) continue;
        uint64_t bits = 0;
        for (uint32_t p = 1; p < in.slot_count; ++p)
          bits |= ReadLane(w, s[p], l) << (8 * s[p].bytes * (p - 1));
        WriteLane(w, s[0], l, bits);
      }
    };
  }
  return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
    const Slot source = s[in.slot_count - 1];
    for (uint32_t l = 0; l < kLanes; ++l) {
      if ((m >> l & 1) == 0) continue;
      const uint64_t bits = ReadLane(w, source, l);
      for (uint32_t p = 0; p + 1 < in.slot_count; ++p)
        WriteLane(w, s[p], l, bits >> (8 * s[p].bytes * p));
    }
  };
}

Step BitStep(const Instruction& i) {
  if (i.type == Type::kPred) return OnPredicates(i);
  return ForBits(i.type, [&](auto tag) { return Bitwise<typename decltype(tag)::type>(i); });
}

Step FunnelShift(const Instruction& i) {
  if (ModifierDirection(i) == Direction::kLeft) {
    if (ModifierShift(i) == Shift::kWrap) {
      LANES3(uint32_t, uint32_t, uint32_t, uint32_t, ((uint64_t{b} << 32 | a) << (c & 31)) >> 32);
    }
    LANES3(uint32_t, uint32_t, uint32_t, uint32_t,
           ((uint64_t{b} << 32 | a) << std::min(c, 32u)) >> 32);
  }
  if (ModifierShift(i) == Shift::kWrap) {
    LANES3(uint32_t, uint32_t, uint32_t, uint32_t, (uint64_t{b} << 32 | a) >> (c & 31));
  }
  LANES3(uint32_t, uint32_t, uint32_t, uint32_t, (uint64_t{b} << 32 | a) >> std::min(c, 32u));
}

Step LogicTable(const Instruction&) {
  return [](Warp& w, const Instruction&, const Slot* s, uint32_t m) {
    const auto table = Read<uint32_t>(w, s[4]);
    const auto a = Read<uint32_t>(w, s[1]), b = Read<uint32_t>(w, s[2]),
               c = Read<uint32_t>(w, s[3]);
    Values<uint32_t> d{};
    for (uint32_t l = 0; l < kLanes; ++l) {
      for (uint32_t k = 0; k < 8; ++k) {
        const uint32_t term = ((k & 4) != 0 ? a.v[l] : ~a.v[l]) &
                              ((k & 2) != 0 ? b.v[l] : ~b.v[l]) & ((k & 1) != 0 ? c.v[l] : ~c.v[l]);
        if ((table.v[l] >> k & 1) != 0) d.v[l] |= term;
      }
    }
    Write(w, s[0], d, m);
  };
}

}  // namespace

Step IntegerStep(const Instruction& i) {
  switch (i.operation) {
    case Operation::kAnd:
    case Operation::kOr:
    case Operation::kXor:
    case Operation::kNot:
    case Operation::kMov:
    case Operation::kSelp:
      return BitStep(i);
    case Operation::kCvta:
      return AddressStep(i);
    case Operation::kPack:
    case Operation::kUnpack:
      return SplitStep(i);
    case Operation::kShf:
      return FunnelShift(i);
    case Operation::kLop3:
      return LogicTable(i);
    case Operation::kPrmt:
      LANES3(uint32_t, uint32_t, uint32_t, uint32_t, Permute(a, b, c));
    case Operation::kSetp:
      return ForInteger(i.type, [&](auto tag) { return CompareStep(i, tag); });
    case Operation::kMulWide:
    case Operation::kMadWide:
      return ForInteger(i.type, [&](auto tag) { return WideProduct(i, tag); });
    case Operation::kAddCarry:
    case Operation::kAddWithCarry:
    case Operation::kMadCarry:
    case Operation::kMadWithCarry:
      return ForInteger(i.type, [&](auto tag) { return CarryStep(i, tag); });
    default:
      return ForInteger(i.type, [&](auto tag) { return Arithmetic(i, tag); });
  }
}

#undef LANES
#undef LANES2
#undef LANES3

}  // namespace hloscope::ptx
