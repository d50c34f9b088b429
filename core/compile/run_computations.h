// RunComputations: which computations run instruction by instruction.
#pragma once

#include <vector>

#include "core/hlo/module.h"

namespace hloscope::compile {

// By computation: true for the entry and for what loops, branches and calls run, however far away;
// false for what is applied to elements, and for fusions.
std::vector<bool> RunComputations(const hlo::Module& module);

}  // namespace hloscope::compile
