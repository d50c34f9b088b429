// The order of floating-point numbers: comparisons, the smaller and the larger.
#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "core/ptx/machine/float_lanes.h"
#include "core/ptx/machine/steps.h"
#include "core/ptx/machine/unit_begin.h"

namespace hloscope::ptx::inline HLOSCOPE_UNIT {
namespace {

// -0 counts as less than +0. Plain min and max drop a NaN, .NaN keeps it.
template <bool kLargest, bool kKeepsNan, typename T>
T Extreme(T a, T b, T nan) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  const auto x = std::bit_cast<Bits>(a), y = std::bit_cast<Bits>(b);
  const T same = std::bit_cast<T>(kLargest ? x & y : x | y);  // differ at most by their signs
  const T apart = (kLargest ? a > b : a < b) ? a : b;
  const T number = a == b ? same : apart;
  const T without_a = kKeepsNan || b != b ? nan : b;
  const T without_b = kKeepsNan ? nan : a;
  return a != a ? without_a : b != b ? without_b : number;
}

// f(largest, keeps NaN) as constants.
template <typename F>
Step ForExtreme(const Instruction& i, F f) {
  const bool largest = i.operation == Operation::kMax || i.operation == Operation::kMax3;
  const bool keeps = ModifierNan(i) == Nan::kOn;
  if (largest)
    return keeps ? f(std::true_type{}, std::true_type{}) : f(std::true_type{}, std::false_type{});
  return keeps ? f(std::false_type{}, std::true_type{}) : f(std::false_type{}, std::false_type{});
}

template <bool kLargest, bool kKeepsNan>
float Extreme32(const Instruction& in, float a, float b) {
  const bool ftz = ModifierFtz(in) == Ftz::kOn;
  return Extreme<kLargest, kKeepsNan>(ftz ? Flushed(a) : a, ftz ? Flushed(b) : b,
                                      std::bit_cast<float>(kNan32));
}

template <typename N, uint32_t kParts>
Step ExtremeNarrow(const Instruction& i) {
  if (ModifierFtz(i) == Ftz::kOn) return nullptr;
  return ForExtreme(i, [](auto largest, auto keeps) -> Step {
    return [](Warp& w, const Instruction&, const Slot* s, uint32_t m) {
      MapParts<N, kParts, 2>(w, s, m, [](auto a, auto b, auto) {
        return N::StoreFloat(Extreme<decltype(largest)::value, decltype(keeps)::value>(
            N::Load(a), N::Load(b), std::bit_cast<float>(kNan32)));
      });
    };
  });
}

Step ExtremeStep(const Instruction& i) {
  switch (i.type) {
    case Type::kF32:
      return ForExtreme(i, [](auto largest, auto keeps) -> Step {
        return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
          Map<float, float, float>(w, s, m, [&](float a, float b) {
            return Extreme32<decltype(largest)::value, decltype(keeps)::value>(in, a, b);
          });
        };
      });
    case Type::kF64:
      if (ModifierNan(i) == Nan::kOn) return nullptr;
      return ForExtreme(i, [](auto largest, auto) -> Step {
        return [](Warp& w, const Instruction&, const Slot* s, uint32_t m) {
          Map<double, double, double>(w, s, m, [](double a, double b) {
            return Extreme<decltype(largest)::value, false>(
                a, b, std::numeric_limits<double>::quiet_NaN());
          });
        };
      });
    case Type::kF16:
      return ExtremeNarrow<F16, 1>(i);
    case Type::kBf16:
      return ExtremeNarrow<Bf16, 1>(i);
    case Type::kF16x2:
      return ExtremeNarrow<F16, 2>(i);
    case Type::kBf16x2:
      return ExtremeNarrow<Bf16, 2>(i);
    default:
      return nullptr;
  }
}

Step ExtremeOfThree(const Instruction& i) {
  return ForExtreme(i, [](auto largest, auto keeps) -> Step {
    return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
      const bool magnitudes = ModifierAbs(in) == Abs::kOn;
      Map<float, float, float, float>(w, s, m, [&](float a, float b, float c) {
        if (magnitudes) {
          a = std::fabs(a);
          b = std::fabs(b);
          c = std::fabs(c);
        }
        constexpr bool kLargest = decltype(largest)::value, kKeeps = decltype(keeps)::value;
        return Extreme32<kLargest, kKeeps>(in, Extreme32<kLargest, kKeeps>(in, a, b), c);
      });
    };
  });
}

struct F32 {
  using Stored = float;
  static float Load(float x) { return x; }
};
struct FlushedF32 {
  using Stored = float;
  static float Load(float x) { return Flushed(x); }
};
struct F64 {
  using Stored = double;
  static double Load(double x) { return x; }
};

template <typename N, Compare kCompare>
void CompareLanes(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  using S = typename N::Stored;
  const uint32_t result = LanesWhere<S>(
      w, s[2], s[3], [](S a, S b) { return FloatsCompare(kCompare, N::Load(a), N::Load(b)); });
  WriteComparison(w, in, s, result, m);
}

template <typename N>
Step CompareOf(Compare compare) {
  switch (compare) {
#define COMPARE(name) \
  case Compare::name: \
    return CompareLanes<N, Compare::name>;
    COMPARE(kEq)
    COMPARE(kNe)
    COMPARE(kLt)
    COMPARE(kLe)
    COMPARE(kGt)
    COMPARE(kGe)
    COMPARE(kEqu)
    COMPARE(kNeu)
    COMPARE(kLtu)
    COMPARE(kLeu)
    COMPARE(kGtu)
    COMPARE(kGeu)
    COMPARE(kNum)
    COMPARE(kNan)
#undef COMPARE
    default:
      return nullptr;
  }
}

Step CompareStep(const Instruction& i) {
  const Compare compare = ModifierCompare(i);
  switch (i.type) {
    case Type::kF32:
      return ModifierFtz(i) == Ftz::kOn ? CompareOf<FlushedF32>(compare) : CompareOf<F32>(compare);
    case Type::kF64:
      return CompareOf<F64>(compare);
    case Type::kF16:
      return ModifierFtz(i) == Ftz::kOn ? nullptr : CompareOf<F16>(compare);
    case Type::kBf16:
      return CompareOf<Bf16>(compare);
    default:
      return nullptr;
  }
}

}  // namespace

Step OrderStep(const Instruction& i) {
  switch (i.operation) {
    case Operation::kMin:
    case Operation::kMax:
      return ExtremeStep(i);
    case Operation::kMin3:
    case Operation::kMax3:
      return i.type == Type::kF32 ? ExtremeOfThree(i) : nullptr;
    case Operation::kSetp:
      return CompareStep(i);
    default:
      return nullptr;
  }
}

}  // namespace hloscope::ptx::inline HLOSCOPE_UNIT

#include "core/ptx/machine/unit_end.h"
