// Comparisons, select, clamp and reduce-precision as loops over lanes.
#include <bit>
#include <cmath>
#include <cstring>

#include "core/eval/lane_templates.h"

namespace hloscope::eval {
namespace {

using hlo::ComparisonDirection;
using hlo::ElementType;

struct Eq {
  template <typename T>
  static bool Of(T x, T y) {
    return x == y;
  }
};
struct Ne {
  template <typename T>
  static bool Of(T x, T y) {
    return x != y;
  }
};
struct Ge {
  template <typename T>
  static bool Of(T x, T y) {
    return x >= y;
  }
};
struct Gt {
  template <typename T>
  static bool Of(T x, T y) {
    return x > y;
  }
};
struct Le {
  template <typename T>
  static bool Of(T x, T y) {
    return x <= y;
  }
};
struct Lt {
  template <typename T>
  static bool Of(T x, T y) {
    return x < y;
  }
};

// Total order of floats: -NaN < -inf < … < -0 < +0 < … < inf < NaN, by their bits.
template <typename F>
struct Totally {
  template <typename T>
  static bool Of(T x, T y) {
    return F::Of(Key(x), Key(y));
  }
  static int32_t Key(float x) {
    const auto bits = std::bit_cast<int32_t>(x);
    return bits < 0 ? bits ^ 0x7fffffff : bits;
  }
  static int64_t Key(double x) {
    const auto bits = std::bit_cast<int64_t>(x);
    return bits < 0 ? bits ^ 0x7fffffffffffffff : bits;
  }
};

template <typename F>
LaneLoop CompareLoop(bool total_order, ElementType type) {
  if (total_order) {
    if (LaneLoop loop = RealFloatLoop<Binary, Totally<F>>(type)) return loop;
  }
  return FirstOf(RealFloatLoop<Binary, F>(type), IntegerLoop<Binary, F>(type),
                 PredLoop<Binary, F>(type));
}

template <typename T>
void SelectLanes(const Lanes& lanes) {
  const auto* which = reinterpret_cast<const uint8_t*>(lanes.in[0]);
  const T* on_true = reinterpret_cast<const T*>(lanes.in[1]);
  const T* on_false = reinterpret_cast<const T*>(lanes.in[2]);
  T* out = reinterpret_cast<T*>(lanes.out);
  HLOSCOPE_LANES_ARE_INDEPENDENT
  for (int64_t i = 0; i < lanes.count; ++i) out[i] = which[i] != 0 ? on_true[i] : on_false[i];
}

// min(max(low, x), high); NaN if any of the three is.
template <typename T>
T Clamped(T low, T x, T high) {
  if constexpr (std::is_floating_point_v<T>) {
    if (x != x) return x;
    if (low != low) return low;
    if (high != high) return high;
  }
  const T raised = x < low ? low : x;
  return raised > high ? high : raised;
}

struct ClampTag {};
template <typename, typename T>
struct Clamp {
  static void Run(const Lanes& lanes) {
    const T* low = reinterpret_cast<const T*>(lanes.in[0]);
    const T* x = reinterpret_cast<const T*>(lanes.in[1]);
    const T* high = reinterpret_cast<const T*>(lanes.in[2]);
    T* out = reinterpret_cast<T*>(lanes.out);
    HLOSCOPE_LANES_ARE_INDEPENDENT
    for (int64_t i = 0; i < lanes.count; ++i) out[i] = Clamped(low[i], x[i], high[i]);
  }
};

// Rounds a float's mantissa to `mantissa_bits` (nearest even), then its exponent range to
// `exponent_bits`: too large is infinity, too small is zero of the same sign. NaN stays NaN.
template <typename T, typename Bits, int kMantissa, int kExponent>
T ReducePrecision(T x, int exponent_bits, int mantissa_bits) {
  if (std::isnan(x)) return x;
  auto bits = std::bit_cast<Bits>(x);
  constexpr Bits kSign = Bits{1} << (kMantissa + kExponent);
  if (mantissa_bits < kMantissa) {
    const int dropped = kMantissa - mantissa_bits;
    const Bits last = (bits >> dropped) & 1;
    bits += (Bits{1} << (dropped - 1)) - 1 + last;
    bits &= ~((Bits{1} << dropped) - 1);
  }
  if (exponent_bits < kExponent) {
    constexpr Bits kExponentMask = ((Bits{1} << kExponent) - 1) << kMantissa;
    constexpr Bits kBias = (Bits{1} << (kExponent - 1)) - 1;
    const Bits reduced_bias = (Bits{1} << (exponent_bits - 1)) - 1;
    const Bits exponent = (bits & kExponentMask) >> kMantissa;
    if (exponent > kBias + reduced_bias) return std::bit_cast<T>((bits & kSign) | kExponentMask);
    if (exponent <= kBias - reduced_bias) return std::bit_cast<T>(bits & kSign);
  }
  return std::bit_cast<T>(bits);
}

void ReducePrecisionF32(const Lanes& lanes) {
  const auto* x = reinterpret_cast<const float*>(lanes.in[0]);
  auto* out = reinterpret_cast<float*>(lanes.out);
  for (int64_t i = 0; i < lanes.count; ++i) {
    out[i] =
        ReducePrecision<float, uint32_t, 23, 8>(x[i], lanes.exponent_bits, lanes.mantissa_bits);
  }
}
void ReducePrecisionF64(const Lanes& lanes) {
  const auto* x = reinterpret_cast<const double*>(lanes.in[0]);
  auto* out = reinterpret_cast<double*>(lanes.out);
  for (int64_t i = 0; i < lanes.count; ++i) {
    out[i] =
        ReducePrecision<double, uint64_t, 52, 11>(x[i], lanes.exponent_bits, lanes.mantissa_bits);
  }
}

}  // namespace

LaneLoop FindCompareLoop(ComparisonDirection direction, bool total_order, ElementType type) {
  switch (direction) {
    case ComparisonDirection::kEq:
      return FirstOf(CompareLoop<Eq>(total_order, type), ComplexLoop<Binary, Eq>(type));
    case ComparisonDirection::kNe:
      return FirstOf(CompareLoop<Ne>(total_order, type), ComplexLoop<Binary, Ne>(type));
    case ComparisonDirection::kGe:
      return CompareLoop<Ge>(total_order, type);
    case ComparisonDirection::kGt:
      return CompareLoop<Gt>(total_order, type);
    case ComparisonDirection::kLe:
      return CompareLoop<Le>(total_order, type);
    case ComparisonDirection::kLt:
      return CompareLoop<Lt>(total_order, type);
  }
  return nullptr;
}

LaneLoop FindSelectLoop(int storage_bytes) {
  switch (storage_bytes) {
    case 1:
      return SelectLanes<uint8_t>;
    case 2:
      return SelectLanes<uint16_t>;
    case 4:
      return SelectLanes<uint32_t>;
    case 8:
      return SelectLanes<uint64_t>;
    case 16:
      return SelectLanes<unsigned __int128>;
    default:
      return nullptr;
  }
}

LaneLoop FindClampLoop(ElementType type) {
  return FirstOf(RealFloatLoop<Clamp, ClampTag>(type), IntegerLoop<Clamp, ClampTag>(type),
                 PredLoop<Clamp, ClampTag>(type));
}

LaneLoop FindReducePrecisionLoop(ElementType type) {
  if (type == ElementType::kF32) return ReducePrecisionF32;
  if (type == ElementType::kF64) return ReducePrecisionF64;
  return nullptr;
}

}  // namespace hloscope::eval
