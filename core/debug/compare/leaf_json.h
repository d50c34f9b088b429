// How one leaf compares, as JSON.
#pragma once

#include "core/base/json.h"
#include "core/debug/compare/compare_values.h"

namespace hloscope::debug {

// The comparison part of one result: index, shape, elements, mismatched, errors, first and worst
// mismatch, histogram of errors; without `compared` what it is alone.
void WriteLeafJson(JsonWriter& json, const LeafComparison& leaf, bool compared);

}  // namespace hloscope::debug
