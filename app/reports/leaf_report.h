// How one leaf compares, as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/debug/compare/compare_values.h"
#include "core/debug/compare/leaf_json.h"
#include "core/debug/run/run_module.h"

namespace hloscope::app {

// "3 of 128 differ", "all 128 equal"; values that are not equal and do not differ are "all 128
// within the bounds".
std::string MatchText(const debug::LeafComparison& leaf);

// "; largest error 0.1 absolute, 0.2 relative, 3 ULP, 1 NaN on one side (actual 1, expected 0)".
// Errors are of pairs of finite elements: where there are none, they are left out.
std::string ErrorsText(const debug::LeafComparison& leaf);
std::string LeafText(const debug::LeafComparison& leaf, bool compared,
                     std::string_view why_not = "");

// Of a result that expected values and a reference platform were given for.
bool HasTwoComparisons(const debug::RunReport& report);

// "           that is against interpreter; against the expected values: all 4 equal", and a line
// break. Empty where there is one comparison.
std::string OtherText(const debug::RunOutput& output, const debug::RunReport& report);

// The fields `against` and `other`, where there are two.
void WriteOtherJson(JsonWriter& json, const debug::RunOutput& output,
                    const debug::RunReport& report);

}  // namespace hloscope::app
