// Bits, moves, addresses, and comparisons of integers.
#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "core/ptx/machine/lane_macros.h"
#include "core/ptx/machine/steps.h"
#include "core/ptx/machine/unit_begin.h"

namespace hloscope::ptx::inline HLOSCOPE_UNIT {
namespace {

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
        const auto* const a = LanesOf<T>(w, s[1]);
        const auto* const b = LanesOf<T>(w, s[2]);
        Values<T> d;
        for (uint32_t l = 0; l < kLanes; ++l) d.v[l] = (choice & 1u << l) != 0 ? a[l] : b[l];
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

// lo, ls, hi, hs are the unsigned comparisons, the floating-point ones do not apply.
template <typename T>
Step CompareStep(const Instruction& i, Tag<T>) {
#define COMPARE(expression)                                              \
  return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) { \
    const auto holds = [](T a, T b) { return expression; };              \
    WriteComparison(w, in, s, LanesWhere<T>(w, s[2], s[3], holds), m);   \
  }
  switch (ModifierCompare(i)) {
    case Compare::kEq:
      COMPARE(a == b);
    case Compare::kNe:
      COMPARE(a != b);
    case Compare::kLt:
    case Compare::kLo:
      COMPARE(a < b);
    case Compare::kLe:
    case Compare::kLs:
      COMPARE(a <= b);
    case Compare::kGt:
    case Compare::kHi:
      COMPARE(a > b);
    case Compare::kGe:
    case Compare::kHs:
      COMPARE(a >= b);
    default:
      return nullptr;
  }
#undef COMPARE
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
    case StateSpace::kSharedCluster:
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

void PackLanes(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    uint64_t bits = 0;
    for (uint32_t p = 1; p < in.slot_count; ++p)
      bits |= ReadLane(w, s[p], l) << (8 * s[p].bytes * (p - 1));
    WriteLane(w, s[0], l, bits);
  }
}

void UnpackLanes(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const Slot source = s[in.slot_count - 1];
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    const uint64_t bits = ReadLane(w, source, l);
    for (uint32_t p = 0; p + 1 < in.slot_count; ++p)
      WriteLane(w, s[p], l, bits >> (8 * s[p].bytes * p));
  }
}

// A register of W and its two halves of H.
template <typename W, typename H>
void PackHalves(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  if (in.slot_count != 3) return PackLanes(w, in, s, m);
  Map<W, H, H>(w, s, m, [](H low, H high) {
    return static_cast<W>(low | static_cast<W>(high) << (8 * sizeof(H)));
  });
}

template <typename W, typename H>
void UnpackHalves(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  if (in.slot_count != 3) return UnpackLanes(w, in, s, m);
  const auto source = Read<W>(w, s[2]);
  Values<H> low, high;
  for (uint32_t l = 0; l < kLanes; ++l) {
    low.v[l] = static_cast<H>(source.v[l]);
    high.v[l] = static_cast<H>(source.v[l] >> (8 * sizeof(H)));
  }
  Write(w, s[0], low, m);
  Write(w, s[1], high, m);
}

Step SplitStep(const Instruction& i) {
  const bool packs = i.operation == Operation::kPack;
  switch (BytesOf(i.type)) {
    case 4:
      return packs ? PackHalves<uint32_t, uint16_t> : UnpackHalves<uint32_t, uint16_t>;
    case 8:
      return packs ? PackHalves<uint64_t, uint32_t> : UnpackHalves<uint64_t, uint32_t>;
    default:
      return packs ? PackLanes : UnpackLanes;
  }
}

Step BitwiseStep(const Instruction& i) {
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

Step BitStep(const Instruction& i) {
  switch (i.operation) {
    case Operation::kAnd:
    case Operation::kOr:
    case Operation::kXor:
    case Operation::kNot:
    case Operation::kMov:
    case Operation::kSelp:
      return BitwiseStep(i);
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
    default:
      return nullptr;
  }
}

}  // namespace hloscope::ptx::inline HLOSCOPE_UNIT

#include "core/ptx/machine/unit_end.h"
