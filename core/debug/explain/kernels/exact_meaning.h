// Whether an instruction means every bit of its results, so that a kernel has no say in any.
#pragma once

#include "core/hlo/module.h"

namespace hloscope::debug {

// True where nothing in the module (one instruction by itself) rounds in an order, together with
// something else or by an approximation: rows of exact_opcodes.def. Only floats round.
bool MeansEveryBit(const hlo::Module& alone);

}  // namespace hloscope::debug
