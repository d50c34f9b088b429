// Products with the operands that their algorithms ask for, which the evaluator leaves as they are.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

// The same module, where each dot whose `algorithm` names narrower operands than it has (bf16, f16,
// tf32, each once; not the _x3, _x6 and _x9 that add up what was cut off) gets them rounded to
// that: StableHLO's lhs_precision_type and rhs_precision_type, "to which the LHS and RHS are
// rounded". Null: there is none.
Result<std::shared_ptr<const hlo::Module>> ProductsAsAsked(
    const std::shared_ptr<const hlo::Module>& module);

}  // namespace hloscope::debug
