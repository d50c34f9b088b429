// Products of mma.sync, wgmma and tcgen05 in double precision.
#pragma once

#include "core/ptx/machine/state.h"

namespace hloscope::ptx {

// Of tf32, all bits of whose registers count then. `usual` where it is no such product.
Step WideProductStep(const Instruction& instruction, Step usual);
// Sums in double precision, rounded once to nearest. `usual` likewise, and of f64 and integers.
Step ExactSumStep(const Instruction& instruction, Step usual);

}  // namespace hloscope::ptx
