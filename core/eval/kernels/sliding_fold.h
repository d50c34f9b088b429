// SlidingFold: reduce-window along one dimension with an associative reducer, in time that grows
// with the logarithm of the window's size; the same tree as one fold per place.
#pragma once

#include "core/eval/kernels/reduction.h"
#include "core/eval/loops/window_taps.h"

namespace hloscope::eval {

// True if the window is long enough for FoldSliding to be quicker than a fold per place; the base
// must not be dilated along `dimension`.
bool SlidingPays(const WindowTaps::Dimension& dimension, int64_t places);

// Folds windows along dimension `d` of the operands into `results`.
Status FoldSliding(KernelCall& call, VectorizedComputation& reducer,
                   const ReductionResults& results, const WindowTaps::Dimension& dimension,
                   size_t d);

}  // namespace hloscope::eval
