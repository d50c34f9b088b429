// Approximate functions of f32 moved within what the PTX ISA documents of them.
#pragma once

#include "core/ptx/machine/state.h"

namespace hloscope::ptx {

inline bool IsApproximateFloat(const Instruction& in) {
  return in.approximate && in.type == Type::kF32;
}

// Moves what an approximate function left in its lanes by `direction` times its bound.
void PushApproximation(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask,
                       double direction);

}  // namespace hloscope::ptx
