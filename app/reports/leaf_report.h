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
std::string LeafText(const debug::LeafComparison& leaf, bool compared);

}  // namespace hloscope::app
