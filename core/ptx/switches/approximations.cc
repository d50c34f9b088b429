// Bounds of approximate functions, by the PTX ISA.
#include "core/ptx/switches/approximations.h"

#include <bit>
#include <cmath>

#include "core/ptx/machine/lanes.h"

namespace hloscope::ptx {
namespace {

float AsFloat(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }

double UnitOf(float value) { return std::ldexp(1.0, std::ilogb(std::fabs(value)) - 23); }

// How far the PTX ISA lets a function of f32 be from the true value.
double BoundOf(const Instruction& in, float operand, float value) {
  const double magnitude = std::fabs(value);
  switch (in.operation) {
    case Operation::kEx2:
    case Operation::kDiv:
      return 2 * UnitOf(value);
    case Operation::kRcp:
      return UnitOf(value);
    case Operation::kRsqrt:
      return magnitude * 0x1.12p-23;  // 2^-22.9
    case Operation::kSqrt:
      return magnitude * 0x1p-23;
    case Operation::kLg2:
      return operand > 0.5f && operand < 2.0f ? 0x1p-22 : magnitude * 0x1p-22;
    case Operation::kSin:
    case Operation::kCos:
      return 0x1.6ap-21;  // 2^-20.5
    default:
      return magnitude * 0x1p-11;  // tanh
  }
}

}  // namespace

// What is exactly 0, infinite or NaN stays.
void PushApproximation(Warp& w, const Instruction& in, const Slot* s, uint32_t m,
                       double direction) {
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((m >> lane & 1) == 0) continue;
    const float value = AsFloat(ReadLane(w, s[0], lane));
    if (value == 0 || !std::isfinite(value)) continue;
    const double bound = BoundOf(in, AsFloat(ReadLane(w, s[1], lane)), value);
    const auto pushed = static_cast<float>(value + direction * bound);
    WriteLane(w, s[0], lane, std::bit_cast<uint32_t>(pushed));
  }
}

}  // namespace hloscope::ptx
