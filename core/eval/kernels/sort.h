// Sorting lines of arrays by a comparator computation.
#pragma once

#include <vector>

#include "core/eval/machine/machine.h"

namespace hloscope::eval {

// The call's operands, arrays of equal sizes, sorted together along `dimension` by the order of the
// first two parameters in `comparator` (two scalars per operand). Stable; unsupported where the
// comparator is none for these operands.
Result<std::vector<Buffer>> SortOperands(KernelCall& call, hlo::ComputationId comparator,
                                         size_t dimension);

}  // namespace hloscope::eval
