// Floating-point arithmetic and comparisons.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/ptx/machine/lanes.h"
#include "core/ptx/machine/rounding.h"
#include "core/ptx/machine/steps.h"
#include "core/ptx/machine/unit_begin.h"

namespace hloscope::ptx::inline HLOSCOPE_UNIT {
namespace {

float Canonical(float x) { return x != x ? std::bit_cast<float>(kNan32) : x; }
float Flushed(float x) {
  return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}
template <typename T>
T Clamped(T x) {
  return x > 0 ? std::min(x, T{1}) : T{0};  // NaN gives 0
}

// Numbers of one type as the steps compute with them: read, computed, written back.
struct F16 {
  using Stored = uint16_t;
  static double Load(Stored b) { return HalfToFloat(b); }
  static Stored Store(double v) { return static_cast<Stored>(ToNarrow(v, kFormatF16)); }
  static constexpr Stored kSign = 0x8000;
};
struct Bf16 {
  using Stored = uint16_t;
  static double Load(Stored b) { return Bf16ToFloat(b); }
  static Stored Store(double v) { return static_cast<Stored>(ToNarrow(v, kFormatBf16)); }
  static constexpr Stored kSign = 0x8000;
};

Arithmetic ArithmeticOf(Operation operation) {
  switch (operation) {
    case Operation::kAdd:
    case Operation::kAddMixed:
      return Arithmetic::kAdd;
    case Operation::kSub:
    case Operation::kSubMixed:
      return Arithmetic::kSub;
    case Operation::kMul:
      return Arithmetic::kMul;
    default:
      return Arithmetic::kFma;
  }
}

// With .ftz, .sat or another rounding mode than to nearest.
float ComputeAny(const Instruction& in, float a, float b, float c) {
  const bool ftz = ModifierFtz(in) == Ftz::kOn;
  if (ftz) {
    a = Flushed(a);
    b = Flushed(b);
    c = Flushed(c);
  }
  float r = Compute32(ArithmeticOf(in.operation), a, b, c, ModifierRound(in));
  if (ModifierRelu(in) == Relu::kOn) r = r != r ? r : r > 0 ? r : 0.0f;
  if (ModifierSat(in) == Sat::kOn) r = Clamped(r);
  return ftz ? Flushed(r) : r;
}

#define ARITHMETIC32(expression)                                                               \
  return [](Warp& w, const Instruction&, const Slot* s, uint32_t m) {                          \
    Map<float, float, float>(w, s, m, [](float a, float b) { return Canonical(expression); }); \
  }

Step Arithmetic32(const Instruction& i) {
  const bool plain = ModifierFtz(i) == Ftz::kNone && ModifierSat(i) == Sat::kNone &&
                     ModifierRelu(i) == Relu::kNone &&
                     (ModifierRound(i) == Round::kRn || ModifierRound(i) == Round::kNone);
  if (plain) {
    switch (i.operation) {
      case Operation::kAdd:
        ARITHMETIC32(a + b);
      case Operation::kSub:
        ARITHMETIC32(a - b);
      case Operation::kMul:
        ARITHMETIC32(a * b);
      default:
        return [](Warp& w, const Instruction&, const Slot* s, uint32_t m) {
          Map<float, float, float, float>(
              w, s, m, [](float a, float b, float c) { return Canonical(std::fma(a, b, c)); });
        };
    }
  }
  return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
    const auto a = Read<float>(w, s[1]), b = Read<float>(w, s[2]);
    const auto c = in.operation == Operation::kFma ? Read<float>(w, s[3]) : Values<float>{};
    Values<float> d;
    for (uint32_t l = 0; l < kLanes; ++l) d.v[l] = ComputeAny(in, a.v[l], b.v[l], c.v[l]);
    Write(w, s[0], d, m);
  };
}

Step Arithmetic64(const Instruction&) {
  return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
    const auto a = Read<double>(w, s[1]), b = Read<double>(w, s[2]);
    const auto c = in.operation == Operation::kFma ? Read<double>(w, s[3]) : Values<double>{};
    Values<double> d;
    for (uint32_t l = 0; l < kLanes; ++l) {
      d.v[l] = Compute64(ArithmeticOf(in.operation), a.v[l], b.v[l], c.v[l], ModifierRound(in));
    }
    Write(w, s[0], d, m);
  };
}

template <typename N>
typename N::Stored ComputeNarrow(const Instruction& in, typename N::Stored a, typename N::Stored b,
                                 typename N::Stored c) {
  double r = ComputeToOdd(ArithmeticOf(in.operation), N::Load(a), N::Load(b), N::Load(c));
  if (ModifierSat(in) == Sat::kOn) r = Clamped(r);
  if (ModifierRelu(in) == Relu::kOn && !std::isnan(r)) r = std::max(r, 0.0);
  return N::Store(r);
}

// The same for each of `kParts` numbers in a register.
template <typename N, uint32_t kParts, typename F>
void EachPart(Warp& w, const Slot* s, uint32_t operands, uint32_t m, F f) {
  using S = typename N::Stored;
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    S parts[3][kParts] = {}, d[kParts];
    for (uint32_t k = 0; k < operands; ++k)
      std::memcpy(parts[k], SourceOf(w, s[k + 1]) + l * sizeof(d), sizeof(d));
    for (uint32_t p = 0; p < kParts; ++p) d[p] = f(parts[0][p], parts[1][p], parts[2][p]);
    std::memcpy(TargetOf(w, s[0]) + l * sizeof(d), d, sizeof(d));
  }
}

template <typename N, uint32_t kParts>
Step ArithmeticNarrow(const Instruction& i) {
  if (ModifierFtz(i) == Ftz::kOn ||
      (ModifierRound(i) != Round::kRn && ModifierRound(i) != Round::kNone))
    return nullptr;
  return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
    EachPart<N, kParts>(w, s, in.operation == Operation::kFma ? 3 : 2, m,
                        [&](auto a, auto b, auto c) { return ComputeNarrow<N>(in, a, b, c); });
  };
}

struct F32Pair {
  using Stored = float;
};

Step ArithmeticPairs(const Instruction&) {
  return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
    EachPart<F32Pair, 2>(w, s, in.operation == Operation::kFma ? 3 : 2, m,
                         [&](float a, float b, float c) { return ComputeAny(in, a, b, c); });
  };
}

Step MixedStep(const Instruction&) {
  return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
    const bool half = in.source == Type::kF16;
    const auto widen = [&](uint16_t b) { return half ? HalfToFloat(b) : Bf16ToFloat(b); };
    const bool is_fma = in.operation == Operation::kFmaMixed;
    const auto a = Read<uint16_t>(w, s[1]);
    const auto b = is_fma ? Read<uint16_t>(w, s[2]) : Values<uint16_t>{};
    const auto c = Read<float>(w, s[is_fma ? 3 : 2]);
    Values<float> d;
    for (uint32_t l = 0; l < kLanes; ++l) {
      d.v[l] = is_fma ? ComputeAny(in, widen(a.v[l]), widen(b.v[l]), c.v[l])
                      : ComputeAny(in, widen(a.v[l]), c.v[l], 0);
    }
    Write(w, s[0], d, m);
  };
}

Step ArithmeticStep(const Instruction& i) {
  switch (i.type) {
    case Type::kF32:
      return Arithmetic32(i);
    case Type::kF64:
      return Arithmetic64(i);
    case Type::kF16:
      return ArithmeticNarrow<F16, 1>(i);
    case Type::kBf16:
      return ArithmeticNarrow<Bf16, 1>(i);
    case Type::kF16x2:
      return ArithmeticNarrow<F16, 2>(i);
    case Type::kBf16x2:
      return ArithmeticNarrow<Bf16, 2>(i);
    case Type::kF32x2:
      return ArithmeticPairs(i);
    default:
      return nullptr;
  }
}

// -0 counts as less than +0. Plain min and max drop a NaN, .NaN keeps it.
template <typename T>
T Extreme(T a, T b, bool largest, bool keep_nan, T nan) {
  if (a != a || b != b) return keep_nan || (a != a && b != b) ? nan : a != a ? b : a;
  if (a == b) return (std::signbit(a) == largest) ? b : a;
  return (a > b) == largest ? a : b;
}

template <typename N, uint32_t kParts>
Step ExtremeNarrow(const Instruction&) {
  return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
    EachPart<N, kParts>(w, s, 2, m, [&](auto a, auto b, auto) {
      return N::Store(Extreme<double>(N::Load(a), N::Load(b), in.operation == Operation::kMax,
                                      ModifierNan(in) == Nan::kOn,
                                      std::numeric_limits<double>::quiet_NaN()));
    });
  };
}

float Extreme32(const Instruction& in, float a, float b) {
  const bool largest = in.operation == Operation::kMax || in.operation == Operation::kMax3;
  if (ModifierFtz(in) == Ftz::kOn) {
    a = Flushed(a);
    b = Flushed(b);
  }
  return Extreme(a, b, largest, ModifierNan(in) == Nan::kOn, std::bit_cast<float>(kNan32));
}

Step ExtremeStep(const Instruction& i) {
  switch (i.type) {
    case Type::kF32:
      return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
        Map<float, float, float>(w, s, m, [&](float a, float b) { return Extreme32(in, a, b); });
      };
    case Type::kF64:
      return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
        if (ModifierNan(in) == Nan::kOn) return;
        Map<double, double, double>(w, s, m, [&](double a, double b) {
          return Extreme(a, b, in.operation == Operation::kMax, false,
                         std::numeric_limits<double>::quiet_NaN());
        });
      };
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

Step ExtremeOfThree(const Instruction&) {
  return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
    Map<float, float, float, float>(
        w, s, m, [&](float a, float b, float c) { return Extreme32(in, Extreme32(in, a, b), c); });
  };
}

// Signs are bits; f32 NaN stays the NaN that arithmetic gives only where the instruction computes,
// so bits are kept here.
template <typename T>
Step SignStep(const Instruction& i) {
  if (i.operation == Operation::kNeg) {
    return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
      const T bit = static_cast<T>(in.type == Type::kF16x2 || in.type == Type::kBf16x2
                                       ? T(0x80008000u)
                                       : T(T{1} << (8 * sizeof(T) - 1)));
      Map<T, T>(w, s, m, [&](T a) { return static_cast<T>(a ^ bit); });
    };
  }
  return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
    const T bit = static_cast<T>(in.type == Type::kF16x2 || in.type == Type::kBf16x2
                                     ? T(0x80008000u)
                                     : T(T{1} << (8 * sizeof(T) - 1)));
    Map<T, T>(w, s, m, [&](T a) { return static_cast<T>(a & static_cast<T>(~bit)); });
  };
}

Step FlushedSign(const Instruction&) {
  return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
    Map<float, float>(w, s, m, [&](float a) {
      return Flushed(in.operation == Operation::kNeg ? -a : std::fabs(a));
    });
  };
}

Step SignOf(const Instruction& i) {
  if (ModifierFtz(i) == Ftz::kOn) return i.type == Type::kF32 ? FlushedSign(i) : nullptr;
  return ForBits(i.type, [&](auto tag) { return SignStep<typename decltype(tag)::type>(i); });
}

// copysign.type d, a, b: the sign of a, the rest of b.
Step CopysignStep(const Instruction& i) {
  if (i.type == Type::kF64) {
    return [](Warp& w, const Instruction&, const Slot* s, uint32_t m) {
      Map<double, double, double>(w, s, m, [](double a, double b) { return std::copysign(b, a); });
    };
  }
  return [](Warp& w, const Instruction&, const Slot* s, uint32_t m) {
    Map<float, float, float>(w, s, m, [](float a, float b) { return std::copysign(b, a); });
  };
}

bool Holds(Compare compare, double a, double b) {
  const bool unordered = a != a || b != b;
  switch (compare) {
    case Compare::kEq:
      return a == b;
    case Compare::kNe:
      return !unordered && a != b;
    case Compare::kLt:
      return a < b;
    case Compare::kLe:
      return a <= b;
    case Compare::kGt:
      return a > b;
    case Compare::kGe:
      return a >= b;
    case Compare::kEqu:
      return unordered || a == b;
    case Compare::kNeu:
      return a != b;
    case Compare::kLtu:
      return unordered || a < b;
    case Compare::kLeu:
      return unordered || a <= b;
    case Compare::kGtu:
      return unordered || a > b;
    case Compare::kGeu:
      return unordered || a >= b;
    case Compare::kNum:
      return !unordered;
    case Compare::kNan:
      return unordered;
    default:
      return false;
  }
}

double LoadAs(const Instruction& in, const Warp& w, Slot slot, uint32_t lane) {
  const uint64_t bits = ReadLane(w, slot, lane);
  switch (in.type) {
    case Type::kF32: {
      const float f = std::bit_cast<float>(static_cast<uint32_t>(bits));
      return ModifierFtz(in) == Ftz::kOn ? Flushed(f) : f;
    }
    case Type::kF64:
      return std::bit_cast<double>(bits);
    case Type::kF16:
      return HalfToFloat(static_cast<uint16_t>(bits));
    default:
      return Bf16ToFloat(static_cast<uint16_t>(bits));
  }
}

Step CompareStep(const Instruction& i) {
  const Compare compare = ModifierCompare(i);
  if (compare >= Compare::kLo && compare <= Compare::kHs) return nullptr;
  if (RowOf(i.type).kind != TypeKind::kFloat) return nullptr;
  return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
    uint32_t result = 0;
    for (uint32_t l = 0; l < kLanes; ++l) {
      result |= static_cast<uint32_t>(
                    Holds(ModifierCompare(in), LoadAs(in, w, s[2], l), LoadAs(in, w, s[3], l)))
                << l;
    }
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

}  // namespace

Step FloatStep(const Instruction& i) {
  const TypeKind kind = RowOf(i.type).kind;
  if (kind != TypeKind::kFloat && kind != TypeKind::kPacked) return nullptr;
  switch (i.operation) {
    case Operation::kAdd:
    case Operation::kSub:
    case Operation::kMul:
    case Operation::kFma:
      return ArithmeticStep(i);
    case Operation::kAddMixed:
    case Operation::kSubMixed:
    case Operation::kFmaMixed:
      return MixedStep(i);
    case Operation::kMin:
    case Operation::kMax:
      if (i.type == Type::kF64 && ModifierNan(i) == Nan::kOn) return nullptr;
      return ExtremeStep(i);
    case Operation::kMin3:
    case Operation::kMax3:
      return ExtremeOfThree(i);
    case Operation::kNeg:
    case Operation::kAbs:
      return SignOf(i);
    case Operation::kCopysign:
      return CopysignStep(i);
    case Operation::kSetp:
      return CompareStep(i);
    default:
      return nullptr;
  }
}

}  // namespace hloscope::ptx::inline HLOSCOPE_UNIT

#include "core/ptx/machine/unit_end.h"
