// Shuffles, votes and reductions over the lanes of a warp.
#include <algorithm>
#include <bit>
#include <cmath>

#include "core/ptx/machine/lanes.h"
#include "core/ptx/machine/rounding.h"
#include "core/ptx/machine/steps.h"
#include "core/ptx/machine/unit_begin.h"

namespace hloscope::ptx::inline HLOSCOPE_UNIT {
namespace {

// shfl.sync d|p, a, b, c, members: c holds the clamp (bits 0-4) and the mask of segments (bits
// 8-12).
template <Shuffle kShuffle>
void ShuffleLanes(Warp& w, const Instruction&, const Slot* s, uint32_t m) {
  const auto a = Read<uint32_t>(w, s[2]);
  const auto* const b = LanesOf<int32_t>(w, s[3]);
  const auto* const c = LanesOf<int32_t>(w, s[4]);
  Values<int32_t> from;
  uint32_t inside = 0;
  for (int32_t l = 0; l < static_cast<int32_t>(kLanes); ++l) {
    const int32_t clamp = c[l] & 31, segment = c[l] >> 8 & 31, by = b[l] & 31;
    const int32_t least = l & segment, most = least | (clamp & ~segment);
    const int32_t wanted = kShuffle == Shuffle::kUp     ? l - by
                           : kShuffle == Shuffle::kDown ? l + by
                           : kShuffle == Shuffle::kBfly ? l ^ by
                                                        : least | (by & ~segment);
    const bool valid = kShuffle == Shuffle::kUp ? wanted >= most : wanted <= most;
    from.v[l] = valid ? wanted : l;
    inside |= valid ? 1u << l : 0u;
  }
  Values<uint32_t> d;
  for (uint32_t l = 0; l < kLanes; ++l) d.v[l] = a.v[from.v[l] & 31];
  Write(w, s[0], d, m);
  WriteMask(w, s[1], inside, m);
}

Step ShuffleStep(const Instruction& i) {
  switch (ModifierShuffle(i)) {
    case Shuffle::kUp:
      return ShuffleLanes<Shuffle::kUp>;
    case Shuffle::kDown:
      return ShuffleLanes<Shuffle::kDown>;
    case Shuffle::kBfly:
      return ShuffleLanes<Shuffle::kBfly>;
    default:
      return ShuffleLanes<Shuffle::kIdx>;
  }
}

void VoteLanes(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const uint32_t yes = ReadMask(w, s[1]) & m;
  bool result = yes != 0;
  if (ModifierVote(in) == Vote::kAll) result = yes == m;
  if (ModifierVote(in) == Vote::kUni) result = yes == m || yes == 0;
  WriteMask(w, s[0], result ? kAllLanes : 0, m);
}

void SetAll(Warp& w, Slot slot, uint32_t value, uint32_t m) {
  Values<uint32_t> d;
  std::fill(std::begin(d.v), std::end(d.v), value);
  Write(w, slot, d, m);
}

float Extreme(float a, float b, bool largest, bool keep_nan) {
  if (a != a || b != b)
    return keep_nan || (a != a && b != b) ? std::bit_cast<float>(kNan32) : a != a ? b : a;
  if (a == b) return std::signbit(a) == largest ? b : a;
  return (a > b) == largest ? a : b;
}

uint32_t Combined(const Instruction& in, uint32_t x, uint32_t y) {
  const bool is_signed = in.type == Type::kS32;
  const auto smaller = [&] {
    return is_signed ? static_cast<int32_t>(x) < static_cast<int32_t>(y) : x < y;
  };
  if (in.type == Type::kF32) {
    return std::bit_cast<uint32_t>(Extreme(std::bit_cast<float>(x), std::bit_cast<float>(y),
                                           ModifierAtomic(in) == Atomic::kMax,
                                           ModifierNan(in) == Nan::kOn));
  }
  switch (ModifierAtomic(in)) {
    case Atomic::kAdd:
      return x + y;
    case Atomic::kMin:
      return smaller() ? x : y;
    case Atomic::kMax:
      return smaller() ? y : x;
    case Atomic::kAnd:
      return x & y;
    case Atomic::kOr:
      return x | y;
    default:
      return x ^ y;
  }
}

void ReduceLanes(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const auto a = Read<uint32_t>(w, s[1]);
  uint32_t result = 0;
  bool any = false;
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    const uint32_t value = ModifierAbs(in) == Abs::kOn ? a.v[l] & 0x7fffffff : a.v[l];
    result = any ? Combined(in, result, value) : value;
    any = true;
  }
  SetAll(w, s[0], result, m);
}

Step ReduceStep(const Instruction& i) {
  const Atomic atomic = ModifierAtomic(i);
  const bool bitwise = atomic == Atomic::kAnd || atomic == Atomic::kOr || atomic == Atomic::kXor;
  const bool extreme = atomic == Atomic::kMin || atomic == Atomic::kMax;
  if (i.type == Type::kB32) return bitwise ? ReduceLanes : nullptr;
  if (i.type == Type::kF32) return extreme ? ReduceLanes : nullptr;
  return extreme || atomic == Atomic::kAdd ? ReduceLanes : nullptr;
}

// The lanes whose value is the lane's own.
void MatchLanes(Warp& w, const Instruction&, const Slot* s, uint32_t m) {
  Values<uint32_t> d{};
  for (uint32_t l = 0; l < kLanes; ++l) {
    for (uint32_t other = 0; other < kLanes; ++other) {
      if ((m >> other & 1) != 0 && ReadLane(w, s[1], l) == ReadLane(w, s[1], other))
        d.v[l] |= 1u << other;
    }
  }
  Write(w, s[0], d, m);
}

// All of them, and true, where their values are one; else none, and false.
void MatchAllLanes(Warp& w, const Instruction&, const Slot* s, uint32_t m) {
  const uint64_t first = ReadLane(w, s[2], static_cast<uint32_t>(std::countr_zero(m)));
  bool equal = true;
  for (uint32_t l = 0; l < kLanes; ++l) equal &= (m >> l & 1) == 0 || ReadLane(w, s[2], l) == first;
  SetAll(w, s[0], equal ? m : 0, m);
  WriteMask(w, s[1], equal ? kAllLanes : 0, m);
}

}  // namespace

Step WarpStep(const Instruction& i) {
  switch (i.operation) {
    case Operation::kShfl:
      return ShuffleStep(i);
    case Operation::kVote:
      return VoteLanes;
    case Operation::kBallot:
      return [](Warp& w, const Instruction&, const Slot* s, uint32_t m) {
        SetAll(w, s[0], ReadMask(w, s[1]) & m, m);
      };
    case Operation::kActivemask:
      return [](Warp& w, const Instruction&, const Slot* s, uint32_t m) { SetAll(w, s[0], m, m); };
    case Operation::kElect:
      return [](Warp& w, const Instruction&, const Slot* s, uint32_t m) {
        const uint32_t leader = static_cast<uint32_t>(std::countr_zero(m));
        SetAll(w, s[0], leader, m);
        WriteMask(w, s[1], 1u << leader, m);
      };
    case Operation::kMatchAny:
      return MatchLanes;
    case Operation::kMatchAll:
      return MatchAllLanes;
    case Operation::kRedux:
      return ReduceStep(i);
    default:
      return nullptr;
  }
}

}  // namespace hloscope::ptx::inline HLOSCOPE_UNIT

#include "core/ptx/machine/unit_end.h"
