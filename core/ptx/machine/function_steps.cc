// Divisions, roots and approximate functions. The approximate ones are computed in double and
// rounded: within the bounds of the PTX ISA, not the bits of a device.
#include <bit>
#include <cmath>
#include <limits>

#include "core/ptx/machine/float_lanes.h"
#include "core/ptx/machine/steps.h"
#include "core/ptx/machine/unit_begin.h"

namespace hloscope::ptx::inline HLOSCOPE_UNIT {
namespace {

template <Operation kOperation>
double Function(double a, double b) {
  if constexpr (kOperation == Operation::kEx2) return std::exp2(a);
  if constexpr (kOperation == Operation::kLg2) return std::log2(a);
  if constexpr (kOperation == Operation::kSin) return std::sin(a);
  if constexpr (kOperation == Operation::kCos) return std::cos(a);
  if constexpr (kOperation == Operation::kTanh) return std::tanh(a);
  if constexpr (kOperation == Operation::kRcp) return 1.0 / a;
  if constexpr (kOperation == Operation::kSqrt) return std::sqrt(a);
  if constexpr (kOperation == Operation::kRsqrt) return 1.0 / std::sqrt(a);
  return a / b;  // kDiv
}

// What the processor has for all lanes at once; the others are called for each that takes part.
template <Operation kOperation>
constexpr bool kIsVector = kOperation == Operation::kRcp || kOperation == Operation::kSqrt ||
                           kOperation == Operation::kRsqrt || kOperation == Operation::kDiv;

// Quotients and roots of f32 in double are never so near a boundary between two f32 that rounding
// twice errs (53 >= 2 * 24 + 2); for directed rounding a result that is no f32 itself is never an
// exact f32 in double either.
template <Operation kOperation, Round kRound, bool kFtz>
void Compute(Warp& w, const Instruction&, const Slot* s, uint32_t m) {
  constexpr bool kTwo = kOperation == Operation::kDiv;
  const auto* const a = LanesOf<float>(w, s[1]);
  const auto* const b = LanesOf<float>(w, s[kTwo ? 2 : 1]);
  Values<float> d;
  for (uint32_t l = 0; l < kLanes; ++l) {
    if constexpr (!kIsVector<kOperation>) {
      d.v[l] = 0;
      if ((m >> l & 1) == 0) continue;
    }
    const float x = kFtz ? Flushed(a[l]) : a[l], y = kFtz ? Flushed(b[l]) : b[l];
    const float r = Canonical(ToFloat<kRound>(Function<kOperation>(x, y)));
    d.v[l] = kFtz ? Flushed(r) : r;
  }
  Write(w, s[0], d, m);
}

// With one rounding where the processor does that at once.
double ProductAndSum(double a, double b, double c) {
#if defined(HLOSCOPE_UNIT_AVX2) || defined(HLOSCOPE_UNIT_AVX512)
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

// 2^x for all lanes at once: 2^n of the nearest integer n times a Taylor polynomial of what is
// left, with an error below 2^11 units in the last place of a double. Where an f32 changes as near
// as four times that, and where it would be a subnormal one, std::exp2 decides: the bits are those
// of Compute.
template <bool kFtz>
void Exp2Lanes(Warp& w, const Instruction&, const Slot* s, uint32_t m) {
  constexpr double kLn2 = 0.693147180559945309417;
  constexpr double kShift = 0x1.8p52;              // added, it leaves an integer in the low bits
  constexpr uint64_t kMiddle = uint64_t{1} << 28;  // of two f32, in the bits that a double has more
  constexpr uint64_t kNear = 1 << 13;
  const auto* const a = LanesOf<float>(w, s[1]);
  Values<float> d;
  uint64_t is_hard[kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) {
    const float operand = kFtz ? Flushed(a[l]) : a[l];
    double x = operand;
    x = x < -300 ? -300 : x;
    x = x > 300 ? 300 : x;
    const double shifted = x + kShift;
    const double y = (x - (shifted - kShift)) * kLn2;
    double sum = 1 / 3628800.0;  // of y^10
    sum = ProductAndSum(sum, y, 1 / 362880.0);
    sum = ProductAndSum(sum, y, 1 / 40320.0);
    sum = ProductAndSum(sum, y, 1 / 5040.0);
    sum = ProductAndSum(sum, y, 1 / 720.0);
    sum = ProductAndSum(sum, y, 1 / 120.0);
    sum = ProductAndSum(sum, y, 1 / 24.0);
    sum = ProductAndSum(sum, y, 1 / 6.0);
    sum = ProductAndSum(sum, y, 0.5);
    sum = ProductAndSum(sum, y, 1);
    sum = ProductAndSum(sum, y, 1);
    const double power = std::bit_cast<double>((std::bit_cast<uint64_t>(shifted) + 1023) << 52);
    const double result = sum * power;
    const uint64_t rest = std::bit_cast<uint64_t>(result) & (2 * kMiddle - 1);
    const uint64_t subnormal = (x < -125 ? 1 : 0) & (x > -160 ? 1 : 0);
    is_hard[l] = rest - (kMiddle - kNear) < 2 * kNear ? 1 : subnormal;
    const float r = Canonical(operand != operand ? operand : static_cast<float>(result));
    d.v[l] = kFtz ? Flushed(r) : r;
  }
  uint32_t hard = 0;
  for (uint32_t l = 0; l < kLanes; ++l) hard |= is_hard[l] != 0 ? 1u << l : 0u;
  for (hard &= m; hard != 0; hard &= hard - 1) {
    const auto l = static_cast<uint32_t>(std::countr_zero(hard));
    const float r = static_cast<float>(std::exp2(double{kFtz ? Flushed(a[l]) : a[l]}));
    d.v[l] = kFtz ? Flushed(r) : r;
  }
  Write(w, s[0], d, m);
}

template <Operation kOperation, Round kRound>
Step ComputeStep(const Instruction& i) {
  return ModifierFtz(i) == Ftz::kOn ? Compute<kOperation, kRound, true>
                                    : Compute<kOperation, kRound, false>;
}

// In any rounding mode.
template <Operation kOperation>
Step RoundedStep(const Instruction& i) {
  switch (ModifierRound(i)) {
    case Round::kRz:
      return ComputeStep<kOperation, Round::kRz>(i);
    case Round::kRm:
      return ComputeStep<kOperation, Round::kRm>(i);
    case Round::kRp:
      return ComputeStep<kOperation, Round::kRp>(i);
    default:
      return ComputeStep<kOperation, Round::kRn>(i);
  }
}

template <Operation kOperation>
void Compute64Bits(Warp& w, const Instruction&, const Slot* s, uint32_t m) {
  if constexpr (kOperation == Operation::kDiv) {
    Map<double, double, double>(w, s, m, Function<kOperation>);
  } else {
    Map<double, double>(w, s, m, [](double a) { return Function<kOperation>(a, 0); });
  }
}

// Of .approx.ftz.f64 the upper half of operand and result counts, the rest is 0; no subnormals.
double UpperHalf(double a) {
  if (std::fpclassify(a) == FP_SUBNORMAL) return std::copysign(0.0, a);
  return std::bit_cast<double>(std::bit_cast<uint64_t>(a) & ~uint64_t{0xffffffff});
}

template <Operation kOperation>
void ComputeUpperHalf(Warp& w, const Instruction&, const Slot* s, uint32_t m) {
  Map<double, double>(w, s, m, [](double a) {
    return a != a ? a : UpperHalf(Function<kOperation>(UpperHalf(a), 0));
  });
}

template <Operation kOperation>
void ComputeNarrow(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const bool half = in.type == Type::kF16 || in.type == Type::kF16x2;
  const uint32_t parts = BytesOf(in.type) / 2;
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    const uint64_t bits = ReadLane(w, s[1], l);
    uint64_t result = 0;
    for (uint32_t p = 0; p < parts; ++p) {
      const auto part = static_cast<uint16_t>(bits >> (16 * p));
      const double value = Function<kOperation>(half ? HalfToFloat(part) : Bf16ToFloat(part), 0);
      result |= uint64_t{ToNarrow(value, half ? kFormatF16 : kFormatBf16)} << (16 * p);
    }
    WriteLane(w, s[0], l, result);
  }
}

template <Operation kOperation>
Step NarrowOrSingle(const Instruction& i) {
  if (i.type == Type::kF32 && kOperation == Operation::kEx2)
    return ModifierFtz(i) == Ftz::kOn ? Exp2Lanes<true> : Exp2Lanes<false>;
  if (i.type == Type::kF32) return ComputeStep<kOperation, Round::kRn>(i);
  return ModifierFtz(i) == Ftz::kOn && i.type != Type::kBf16 && i.type != Type::kBf16x2
             ? nullptr
             : ComputeNarrow<kOperation>;
}

template <Operation kOperation>
Step RoundedOr64Bits(const Instruction& i) {
  if (i.type == Type::kF32) return RoundedStep<kOperation>(i);
  const bool to_nearest = i.type == Type::kF64 && ModifierRound(i) == Round::kRn;
  return to_nearest ? Compute64Bits<kOperation> : nullptr;
}

}  // namespace

Step FunctionStep(const Instruction& i) {
  switch (i.operation) {
    case Operation::kEx2:
      return NarrowOrSingle<Operation::kEx2>(i);
    case Operation::kTanh:
      return NarrowOrSingle<Operation::kTanh>(i);
    case Operation::kLg2:
      return ComputeStep<Operation::kLg2, Round::kRn>(i);
    case Operation::kSin:
      return ComputeStep<Operation::kSin, Round::kRn>(i);
    case Operation::kCos:
      return ComputeStep<Operation::kCos, Round::kRn>(i);
    case Operation::kDiv:
      return RoundedOr64Bits<Operation::kDiv>(i);
    case Operation::kRcp:
      return i.type == Type::kF64 && i.approximate ? ComputeUpperHalf<Operation::kRcp>
                                                   : RoundedOr64Bits<Operation::kRcp>(i);
    case Operation::kSqrt:
      return RoundedOr64Bits<Operation::kSqrt>(i);
    case Operation::kRsqrt:
      if (i.type == Type::kF32) return ComputeStep<Operation::kRsqrt, Round::kRn>(i);
      return ModifierFtz(i) == Ftz::kOn ? ComputeUpperHalf<Operation::kRsqrt>
                                        : Compute64Bits<Operation::kRsqrt>;
    default:
      return nullptr;
  }
}

}  // namespace hloscope::ptx::inline HLOSCOPE_UNIT

#include "core/ptx/machine/unit_end.h"
