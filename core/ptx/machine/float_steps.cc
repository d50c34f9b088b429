// Floating-point arithmetic.
#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "core/ptx/machine/float_lanes.h"
#include "core/ptx/machine/steps.h"
#include "core/ptx/machine/unit_begin.h"

namespace hloscope::ptx::inline HLOSCOPE_UNIT {
namespace {

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

// f(integral_constant<Arithmetic>) of an operation.
template <typename F>
Step ForArithmetic(Operation operation, F f) {
  switch (ArithmeticOf(operation)) {
    case Arithmetic::kAdd:
      return f(std::integral_constant<Arithmetic, Arithmetic::kAdd>{});
    case Arithmetic::kSub:
      return f(std::integral_constant<Arithmetic, Arithmetic::kSub>{});
    case Arithmetic::kMul:
      return f(std::integral_constant<Arithmetic, Arithmetic::kMul>{});
    case Arithmetic::kFma:
      return f(std::integral_constant<Arithmetic, Arithmetic::kFma>{});
  }
  return nullptr;
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

template <Arithmetic kArithmetic, typename F>
void MapFloats(Warp& w, const Slot* s, uint32_t m, F f) {
  if constexpr (kArithmetic == Arithmetic::kFma) {
    Map<float, float, float, float>(w, s, m, f);
  } else {
    Map<float, float, float>(w, s, m, [&](float a, float b) { return f(a, b, 0.0f); });
  }
}

// To nearest as the processor does.
template <Arithmetic kArithmetic>
float Nearest(float a, float b, float c) {
  if constexpr (kArithmetic == Arithmetic::kAdd) return a + b;
  if constexpr (kArithmetic == Arithmetic::kSub) return a - b;
  if constexpr (kArithmetic == Arithmetic::kMul) return a * b;
  return std::fma(a, b, c);
}

template <Arithmetic kArithmetic>
Step PlainArithmetic32(Round round) {
  switch (round) {
    case Round::kRz:
      return [](Warp& w, const Instruction&, const Slot* s, uint32_t m) {
        MapFloats<kArithmetic>(w, s, m, [](float a, float b, float c) {
          return Compute32<kArithmetic, Round::kRz>(a, b, c);
        });
      };
    case Round::kRm:
      return [](Warp& w, const Instruction&, const Slot* s, uint32_t m) {
        MapFloats<kArithmetic>(w, s, m, [](float a, float b, float c) {
          return Compute32<kArithmetic, Round::kRm>(a, b, c);
        });
      };
    case Round::kRp:
      return [](Warp& w, const Instruction&, const Slot* s, uint32_t m) {
        MapFloats<kArithmetic>(w, s, m, [](float a, float b, float c) {
          return Compute32<kArithmetic, Round::kRp>(a, b, c);
        });
      };
    default:
      return [](Warp& w, const Instruction&, const Slot* s, uint32_t m) {
        MapFloats<kArithmetic>(w, s, m, [](float a, float b, float c) {
          return Canonical(Nearest<kArithmetic>(a, b, c));
        });
      };
  }
}

Step Arithmetic32(const Instruction& i) {
  const bool plain = ModifierFtz(i) == Ftz::kNone && ModifierSat(i) == Sat::kNone &&
                     ModifierRelu(i) == Relu::kNone;
  if (plain) {
    return ForArithmetic(i.operation, [&](auto arithmetic) {
      return PlainArithmetic32<decltype(arithmetic)::value>(ModifierRound(i));
    });
  }
  return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
    const auto a = Read<float>(w, s[1]), b = Read<float>(w, s[2]);
    const auto c = in.operation == Operation::kFma ? Read<float>(w, s[3]) : Values<float>{};
    Values<float> d;
    for (uint32_t l = 0; l < kLanes; ++l) d.v[l] = ComputeAny(in, a.v[l], b.v[l], c.v[l]);
    Write(w, s[0], d, m);
  };
}

// To nearest as the processor does; other modes lane by lane.
template <Arithmetic kArithmetic>
Step NearestArithmetic64() {
  return [](Warp& w, const Instruction&, const Slot* s, uint32_t m) {
    if constexpr (kArithmetic == Arithmetic::kFma) {
      Map<double, double, double, double>(
          w, s, m, [](double a, double b, double c) { return std::fma(a, b, c); });
    } else {
      Map<double, double, double>(w, s, m, [](double a, double b) {
        if constexpr (kArithmetic == Arithmetic::kAdd) return a + b;
        if constexpr (kArithmetic == Arithmetic::kSub) return a - b;
        return a * b;
      });
    }
  };
}

Step Arithmetic64(const Instruction& i) {
  if (ModifierRound(i) == Round::kRn || ModifierRound(i) == Round::kNone) {
    return ForArithmetic(i.operation, [](auto arithmetic) {
      return NearestArithmetic64<decltype(arithmetic)::value>();
    });
  }
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

template <typename N, uint32_t kParts, Arithmetic kArithmetic>
Step PlainArithmeticNarrow() {
  constexpr uint32_t kOperands = kArithmetic == Arithmetic::kFma ? 3 : 2;
  return [](Warp& w, const Instruction&, const Slot* s, uint32_t m) {
    MapParts<N, kParts, kOperands>(w, s, m, [](auto a, auto b, auto c) {
      return N::Store(ComputeToOdd<kArithmetic>(N::Load(a), N::Load(b), N::Load(c)));
    });
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

template <typename N, uint32_t kParts>
Step ArithmeticNarrow(const Instruction& i) {
  if (ModifierFtz(i) == Ftz::kOn ||
      (ModifierRound(i) != Round::kRn && ModifierRound(i) != Round::kNone))
    return nullptr;
  if (ModifierSat(i) == Sat::kNone && ModifierRelu(i) == Relu::kNone) {
    return ForArithmetic(i.operation, [](auto arithmetic) {
      return PlainArithmeticNarrow<N, kParts, decltype(arithmetic)::value>();
    });
  }
  if (i.operation == Operation::kFma) {
    return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
      MapParts<N, kParts, 3>(w, s, m,
                             [&](auto a, auto b, auto c) { return ComputeNarrow<N>(in, a, b, c); });
    };
  }
  return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
    MapParts<N, kParts, 2>(w, s, m,
                           [&](auto a, auto b, auto) { return ComputeNarrow<N>(in, a, b, 0); });
  };
}

struct F32Pair {
  using Stored = float;
};

Step ArithmeticPairs(const Instruction& i) {
  if (i.operation == Operation::kFma) {
    return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
      MapParts<F32Pair, 2, 3>(w, s, m,
                              [&](float a, float b, float c) { return ComputeAny(in, a, b, c); });
    };
  }
  return [](Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
    MapParts<F32Pair, 2, 2>(w, s, m,
                            [&](float a, float b, float) { return ComputeAny(in, a, b, 0); });
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
    case Operation::kNeg:
    case Operation::kAbs:
      return SignOf(i);
    case Operation::kCopysign:
      return CopysignStep(i);
    default:
      return nullptr;
  }
}

}  // namespace hloscope::ptx::inline HLOSCOPE_UNIT

#include "core/ptx/machine/unit_end.h"
