// What is said of two modules whose results agree: how their operations differ, within which
// bounds.
#pragma once

#include <string>

#include "core/debug/compare/compare_values.h"
#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/run/run_results.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

// None where both have the same operations, up to names, order and metadata.
OperationChanges OperationsThatDiffer(const hlo::Module& a, const hlo::Module& b);

// "f32: 0.0001 absolute or relative, s32: exactly": of the types of the results.
std::string BoundsPhrase(const Leaves& results, const BoundsRequest& request);

}  // namespace hloscope::debug
