// Comparisons, select, clamp and reduce-precision as loops over lanes.
#include <bit>
#include <cmath>
#include <cstring>

#include "core/eval/loops/lane_templates.h"
#include "core/hlo/float_types.h"

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

// The same for floats narrower than f32, where NaNs differ by payload too. The one NaN of the fnuz
// formats comes before all numbers (XLA: ToSignMagnitude); e8m0 has no sign.
template <typename F, hlo::FloatSpecials kSpecials>
struct TotallyByBits {
  template <typename T>
  static bool Of(T x, T y, int bits) {
    return F::Of(Key(x, bits), Key(y, bits));
  }
  static int Key(int x, int bits) {
    if constexpr (kSpecials == hlo::FloatSpecials::kScale) return x;
    const int sign = 1 << (bits - 1), magnitude = x & (sign - 1);
    if ((x & sign) == 0) return magnitude;
    const bool is_nan = kSpecials == hlo::FloatSpecials::kFnuz && magnitude == 0;
    return is_nan ? -sign - 1 : -1 - magnitude;
  }
};

template <typename F>
LaneLoop TotalOrderLoop(ElementType type) {
  using enum hlo::FloatSpecials;
  if (hlo::StorageBytes(type) == 2) return BinaryLanes<TotallyByBits<F, kIeee>, uint16_t>;
  switch (hlo::FindFloatFormat(type)->specials) {
    case kFnuz:
      return BinaryLanes<TotallyByBits<F, kFnuz>, uint8_t>;
    case kScale:
      return BinaryLanes<TotallyByBits<F, kScale>, uint8_t>;
    default:
      return BinaryLanes<TotallyByBits<F, kIeee>, uint8_t>;
  }
}

template <typename F>
LaneLoop CompareLoop(bool total_order, ElementType type) {
  if (total_order && IsNarrowFloat(type)) return TotalOrderLoop<F>(type);
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
    if (std::isnan(x)) return x;
    if (std::isnan(low)) return low;
    if (std::isnan(high)) return high;
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
// `exponent_bits`: too large is infinity, too small is zero of the same sign. NaN stays NaN. Bits
// are dropped from where they stand, in denormals too (XLA: HloEvaluator::HandleReducePrecision).
template <typename Bits, int kMantissa, int kExponent>
Bits ReducePrecision(Bits input, int exponent_bits, int mantissa_bits) {
  constexpr uint64_t kSign = uint64_t{1} << (kMantissa + kExponent);
  constexpr uint64_t kExponentMask = ((uint64_t{1} << kExponent) - 1) << kMantissa;
  uint64_t bits = input;
  if ((bits & (kSign - 1)) > kExponentMask) return input;
  if (mantissa_bits < kMantissa) {
    const int dropped = kMantissa - mantissa_bits;
    const uint64_t last = (bits >> dropped) & 1;
    bits += (uint64_t{1} << (dropped - 1)) - 1 + last;
    bits &= ~((uint64_t{1} << dropped) - 1);
  }
  if (exponent_bits < kExponent) {
    constexpr uint64_t kBias = (uint64_t{1} << (kExponent - 1)) - 1;
    const uint64_t reduced_bias = (uint64_t{1} << (exponent_bits - 1)) - 1;
    const uint64_t exponent = (bits & kExponentMask) >> kMantissa;
    if (exponent > kBias + reduced_bias) return static_cast<Bits>((bits & kSign) | kExponentMask);
    if (exponent <= kBias - reduced_bias) return static_cast<Bits>(bits & kSign);
  }
  return static_cast<Bits>(bits);
}

template <typename Bits, int kMantissa, int kExponent>
void ReducePrecisionLanes(const Lanes& lanes) {
  const auto* x = reinterpret_cast<const Bits*>(lanes.in[0]);
  auto* out = reinterpret_cast<Bits*>(lanes.out);
  for (int64_t i = 0; i < lanes.count; ++i) {
    out[i] =
        ReducePrecision<Bits, kMantissa, kExponent>(x[i], lanes.exponent_bits, lanes.mantissa_bits);
  }
}

template <typename T>
struct SelectOf {
  static void Run(const Lanes& lanes) { SelectLanes<T>(lanes); }
};

struct Second {
  template <typename T>
  static T Of(T, T y) {
    return y;
  }
};
template <typename T>
struct ReplaceOf {
  static void Run(const Updates& updates) { UpdateElements<Second, T>(updates); }
};

// Choose<T>::Run for an unsigned type T of that size; null if there is none.
template <template <typename> typename Choose>
auto BySize(int bytes) -> decltype(&Choose<uint8_t>::Run) {
  switch (bytes) {
    case 1:
      return Choose<uint8_t>::Run;
    case 2:
      return Choose<uint16_t>::Run;
    case 4:
      return Choose<uint32_t>::Run;
    case 8:
      return Choose<uint64_t>::Run;
    case 16:
      return Choose<unsigned __int128>::Run;
    default:
      return nullptr;
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

LaneLoop FindSelectLoop(int storage_bytes) { return BySize<SelectOf>(storage_bytes); }

UpdateLoop FindReplaceLoop(int storage_bytes) { return BySize<ReplaceOf>(storage_bytes); }

LaneLoop FindClampLoop(ElementType type) {
  return FirstOf(RealFloatLoop<Clamp, ClampTag>(type), IntegerLoop<Clamp, ClampTag>(type),
                 PredLoop<Clamp, ClampTag>(type), FindComplexClampLoop(type));
}

LaneLoop FindReducePrecisionLoop(ElementType type) {
  switch (type) {
    case ElementType::kF16:
      return ReducePrecisionLanes<uint16_t, 10, 5>;
    case ElementType::kBF16:
      return ReducePrecisionLanes<uint16_t, 7, 8>;
    case ElementType::kF32:
      return ReducePrecisionLanes<uint32_t, 23, 8>;
    case ElementType::kF64:
      return ReducePrecisionLanes<uint64_t, 52, 11>;
    default:
      return nullptr;
  }
}

}  // namespace hloscope::eval
