// RunComputations: which computations run instruction by instruction.
#pragma once

#include <vector>

#include "core/hlo/module.h"

namespace hloscope::compile {

// By computation: true for the entry and for what loops, branches and calls run, however far away;
// false for what is applied to elements and, unless they are asked for, for fusions.
std::vector<bool> RunComputations(const hlo::Module& module, bool into_fusions = false);

}  // namespace hloscope::compile
