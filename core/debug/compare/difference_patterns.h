// DifferencePatterns: where in an array elements differ, and how, in a few words that hold of all
// differing elements and of no other.
#pragma once

#include <string>
#include <vector>

#include "core/debug/compare/compare_values.h"
#include "core/hlo/literal.h"

namespace hloscope::debug {

// "only column 31", "only rows ≥ 992", "only the last 8 of each 1,000 in dimension 1", "every value
// is 2 × the expected", "shifted by one along dimension 1". Both arrays have the same shape; floats
// agree within `bounds`. Empty where nothing differs, or nothing simple holds.
std::vector<std::string> DifferencePatterns(const hlo::Literal& actual,
                                            const hlo::Literal& expected,
                                            const ErrorBounds& bounds);

}  // namespace hloscope::debug
