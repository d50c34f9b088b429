// Divisions, roots and approximate functions. The approximate ones are computed in double and
// rounded: within the bounds of the PTX ISA, not the bits of a device.
#include <bit>
#include <cmath>
#include <limits>

#include "core/ptx/machine/lanes.h"
#include "core/ptx/machine/rounding.h"
#include "core/ptx/machine/steps.h"
#include "core/ptx/machine/unit_begin.h"

namespace hloscope::ptx::inline HLOSCOPE_UNIT {
namespace {

float Flushed(float x) {
  return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}

double Function(Operation operation, double a, double b) {
  switch (operation) {
    case Operation::kEx2:
      return std::exp2(a);
    case Operation::kLg2:
      return std::log2(a);
    case Operation::kSin:
      return std::sin(a);
    case Operation::kCos:
      return std::cos(a);
    case Operation::kTanh:
      return std::tanh(a);
    case Operation::kRcp:
      return 1.0 / a;
    case Operation::kSqrt:
      return std::sqrt(a);
    case Operation::kRsqrt:
      return 1.0 / std::sqrt(a);
    default:
      return a / b;  // kDiv
  }
}

// Quotients and roots of f32 in double are never so near a boundary between two f32 that rounding
// twice errs (53 >= 2 * 24 + 2); for directed rounding a result that is no f32 itself is never an
// exact f32 in double either.
template <bool kTwo>
void Compute(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const bool ftz = ModifierFtz(in) == Ftz::kOn;
  const auto a = Read<float>(w, s[1]);
  const auto b = kTwo ? Read<float>(w, s[2]) : Values<float>{};
  Values<float> d;
  for (uint32_t l = 0; l < kLanes; ++l) {
    const float x = ftz ? Flushed(a.v[l]) : a.v[l];
    const float y = ftz ? Flushed(b.v[l]) : b.v[l];
    float r = (m >> l & 1) != 0 ? ToFloat(Function(in.operation, x, y), ModifierRound(in)) : 0;
    if (r != r) r = std::bit_cast<float>(kNan32);
    d.v[l] = ftz ? Flushed(r) : r;
  }
  Write(w, s[0], d, m);
}

template <bool kTwo>
void Compute64Bits(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const auto a = Read<double>(w, s[1]);
  const auto b = kTwo ? Read<double>(w, s[2]) : Values<double>{};
  Values<double> d;
  for (uint32_t l = 0; l < kLanes; ++l) d.v[l] = Function(in.operation, a.v[l], b.v[l]);
  Write(w, s[0], d, m);
}

void ComputeNarrow(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const bool half = in.type == Type::kF16 || in.type == Type::kF16x2;
  const uint32_t parts = BytesOf(in.type) / 2;
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    const uint64_t bits = ReadLane(w, s[1], l);
    uint64_t result = 0;
    for (uint32_t p = 0; p < parts; ++p) {
      const auto part = static_cast<uint16_t>(bits >> (16 * p));
      const double value = Function(in.operation, half ? HalfToFloat(part) : Bf16ToFloat(part), 0);
      result |= uint64_t{ToNarrow(value, half ? kFormatF16 : kFormatBf16)} << (16 * p);
    }
    WriteLane(w, s[0], l, result);
  }
}

}  // namespace

Step FunctionStep(const Instruction& i) {
  switch (i.operation) {
    case Operation::kDiv:
      if (i.type == Type::kF32) return Compute<true>;
      return i.type == Type::kF64 && ModifierRound(i) == Round::kRn ? Compute64Bits<true> : nullptr;
    case Operation::kEx2:
    case Operation::kTanh:
      if (i.type == Type::kF32) return Compute<false>;
      return ModifierFtz(i) == Ftz::kOn && i.type != Type::kBf16 && i.type != Type::kBf16x2
                 ? nullptr
                 : ComputeNarrow;
    case Operation::kLg2:
    case Operation::kSin:
    case Operation::kCos:
      return Compute<false>;
    case Operation::kRcp:
    case Operation::kSqrt:
      if (i.type == Type::kF32) return Compute<false>;
      return ModifierRound(i) == Round::kRn ? Compute64Bits<false> : nullptr;
    case Operation::kRsqrt:
      return i.type == Type::kF32 ? Compute<false> : Compute64Bits<false>;
    default:
      return nullptr;
  }
}

}  // namespace hloscope::ptx::inline HLOSCOPE_UNIT

#include "core/ptx/machine/unit_end.h"
