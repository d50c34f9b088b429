// Floating-point numbers in lanes: what the steps of arithmetic and of comparisons share.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/ptx/machine/lanes.h"
#include "core/ptx/machine/rounding.h"
#include "core/ptx/machine/unit_begin.h"

namespace hloscope::ptx::inline HLOSCOPE_UNIT {

inline float Canonical(float x) { return x != x ? std::bit_cast<float>(kNan32) : x; }
inline float Flushed(float x) {
  return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}
template <typename T>
inline T Clamped(T x) {
  return x > 0 ? std::min(x, T{1}) : T{0};  // NaN gives 0
}

// Whether the comparison of setp holds. Without branches where `compare` is a constant: loops over
// lanes become vector code.
template <typename T>
[[gnu::always_inline]] inline bool FloatsCompare(Compare compare, T a, T b) {
  const bool unordered = (a != a) | (b != b);
  switch (compare) {
    case Compare::kEq:
      return a == b;
    case Compare::kNe:
      return (a < b) | (a > b);
    case Compare::kLt:
      return a < b;
    case Compare::kLe:
      return a <= b;
    case Compare::kGt:
      return a > b;
    case Compare::kGe:
      return a >= b;
    case Compare::kEqu:
      return unordered | (a == b);
    case Compare::kNeu:
      return a != b;
    case Compare::kLtu:
      return unordered | (a < b);
    case Compare::kLeu:
      return unordered | (a <= b);
    case Compare::kGtu:
      return unordered | (a > b);
    case Compare::kGeu:
      return unordered | (a >= b);
    case Compare::kNum:
      return !unordered;
    case Compare::kNan:
      return unordered;
    default:
      return false;
  }
}

// Numbers of one type as the steps compute with them: read, computed, written back. Store rounds
// what is exact or rounded to odd; StoreFloat takes what the type has.
struct F16 {
  using Stored = uint16_t;
  static float Load(Stored b) { return HalfToFloat(b); }
  static Stored Store(double v) { return FloatToHalf(ToOddFloat(v)); }
  static Stored StoreFloat(float v) { return FloatToHalf(v); }
};
struct Bf16 {
  using Stored = uint16_t;
  static float Load(Stored b) { return Bf16ToFloat(b); }
  static Stored Store(double v) { return FloatToBf16(ToOddFloat(v)); }
  static Stored StoreFloat(float v) { return FloatToBf16(v); }
};

// d = f(a, b, c) for each of `kParts` numbers in a register; operands beyond `kOperands` are 0.
template <typename N, uint32_t kParts, uint32_t kOperands, typename F>
inline void MapParts(Warp& w, const Slot* s, uint32_t m, F f) {
  using S = typename N::Stored;
  using Register =
      std::conditional_t<kParts * sizeof(S) == 2, uint16_t,
                         std::conditional_t<kParts * sizeof(S) == 4, uint32_t, uint64_t>>;
  const auto* const a = LanesOf<S>(w, s[1]);
  const auto* const b = LanesOf<S>(w, s[2]);
  const auto* const c = LanesOf<S>(w, s[kOperands == 3 ? 3 : 2]);
  S d[kLanes * kParts];
  for (uint32_t i = 0; i < kLanes * kParts; ++i) d[i] = f(a[i], b[i], c[i]);
  Values<Register> values;
  std::memcpy(values.v, d, sizeof d);
  Write(w, s[0], values, m);
}

}  // namespace hloscope::ptx::inline HLOSCOPE_UNIT

#include "core/ptx/machine/unit_end.h"
