// How one leaf compares, as JSON and as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/debug/compare/compare_values.h"

namespace hloscope::app {

// "{0,2}".
std::string IndexText(const std::vector<int64_t>& index);

// The comparison part of one result: index, shape, elements, mismatched, errors, first and worst
// mismatch, histogram of errors; without `compared` what it is alone.
void WriteLeafJson(JsonWriter& json, const debug::LeafComparison& leaf, bool compared);
// "; largest error 0.1 absolute, 0.2 relative, 3 ULP, 1 NaN on one side (actual 1, expected 0)".
// Errors are of pairs of finite elements: where none of those differs, they are left out.
std::string ErrorsText(const debug::LeafComparison& leaf);
std::string LeafText(const debug::LeafComparison& leaf, bool compared);

}  // namespace hloscope::app
