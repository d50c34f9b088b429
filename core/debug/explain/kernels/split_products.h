// Products that XLA:GPU splits over k: which parts of k a partial product takes is the kernel's
// own, only their sum means anything.
#pragma once

#include "core/debug/compare/compare_values.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

// True where the array may be the partial products of a dot in `alone`, by its first dimension: it
// is a batch dimension that was cut from another of the operands.
bool MayBeSplitProduct(const hlo::Module& alone, const hlo::Shape& array);

// The sums over the first dimension agree within the bounds, and no part stands where another
// should.
bool SameSums(const hlo::Literal& actual, const hlo::Literal& expected, const ErrorBounds& bounds);

}  // namespace hloscope::debug
