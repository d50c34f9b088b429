// Results of functions, which every library rounds in its own way, moved to neighbouring numbers.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

// The distance of 1 and the next number, relative to numbers of the type; 0 of what is no float.
double StepOf(hlo::ElementType type);

// Arguments 2n and 2n + 1 move in opposite ways: what one subtracts from the other moves too.
bool MovesAway(uint64_t argument, uint64_t element, bool up);

// Whether a small change of a value can choose another result: a comparison, rounding to integers,
// the order of a sort.
bool MakesChoices(const hlo::Module& module);

// The module with every element of the result of a transcendental function or a dot moved by about
// one ULP, up or down by a pattern of signs and its opposite. Null: there is none.
Result<std::shared_ptr<const hlo::Module>> FunctionsMoved(
    const std::shared_ptr<const hlo::Module>& module, uint64_t pattern, bool up);

}  // namespace hloscope::debug
