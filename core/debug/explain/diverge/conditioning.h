// Conditioning: how uncertain the results of a module are by rounding alone, whatever computes it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/debug/explain/diverge/gaps.h"
#include "core/debug/explain/diverge/verdict.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

// The results of a module on the platform that defines what is right; it may take its parameters
// in wider types than the arguments of the run have.
using EvaluateOn = std::function<Result<Leaves>(const std::shared_ptr<const hlo::Module>& module,
                                                const std::vector<hlo::Literal>& arguments)>;

// Whether the results of `module` on `arguments`, which are `expected`, are ill-conditioned where
// `actual` differs: the elements that differ move by at least what is to be explained, and by more
// than `steps` ULP, where the inputs move by one, up and down; or they are that far from the value
// in double precision. None is left, but for a few, that hardly moves however often that is
// repeated: it is a fault, not an uncertainty. Where the module makes choices, what functions
// inside of it give is moved, too. An index or another number that is no float has changed or not:
// by how much says nothing. An ULP is that of the type in which the module computes: a step of bf16
// in the inputs is none of f32 in the results.
inline constexpr double kIllConditionedSteps = 4;
DivergeTry TryConditioning(const std::shared_ptr<const hlo::Module>& module,
                           const std::vector<hlo::Literal>& arguments, const Leaves& actual,
                           const Leaves& expected, const BoundsRequest& bounds,
                           const EvaluateOn& evaluate, double steps = kIllConditionedSteps);

}  // namespace hloscope::debug
