// How one leaf compares, as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/debug/compare/compare_values.h"
#include "core/debug/compare/leaf_json.h"

namespace hloscope::app {

// "{0,2}".
std::string IndexText(const std::vector<int64_t>& index);

// "; largest error 0.1 absolute, 0.2 relative, 3 ULP, 1 NaN on one side (actual 1, expected 0)".
// Errors are of pairs of finite elements: where none of those differs, they are left out.
std::string ErrorsText(const debug::LeafComparison& leaf);
std::string LeafText(const debug::LeafComparison& leaf, bool compared,
                     std::string_view why_not = "");

}  // namespace hloscope::app
