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
// "2 of 8 differ; largest error 1e-07 absolute, 2e-07 relative, 3 ULP": errors and ULP only where
// they mean something.
std::string ErrorText(const debug::LeafComparison& leaf, hlo::ElementType type);
std::string LeafText(const debug::LeafComparison& leaf, bool compared);

}  // namespace hloscope::app
