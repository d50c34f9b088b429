// Edge values: what made-up inputs leave out because XLA does not promise results for it, or no
// program means it.
#pragma once

#include <cstdint>

#include "core/hlo/literal.h"
#include "core/replay/inputs/input_constraints.h"

namespace hloscope::replay {

// `array` with about one element in eight replaced: floats by infinities, NaN, zeros, denormals and
// the largest number, integers by the ends of their type, and by what lies just outside what
// `asked` allows, indices out of range among them. What `needed` says is kept: an array that it
// says something of, one that is sorted, distinct or a whole of sizes or matrices, and one that
// must be one value stay as they are.
hlo::Literal WithEdgeValues(const hlo::Literal& array, const InputConstraints& asked,
                            const InputConstraints& needed, uint64_t stream);

}  // namespace hloscope::replay
