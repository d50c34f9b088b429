// Comparing two runs of the same thing: every bit must agree.
#pragma once

#include "core/debug/compare/compare_values.h"
#include "core/hlo/literal.h"

namespace hloscope::debug {

// As CompareArrays without any tolerance: -0 differs from 0, and NaNs must be of the same bits. Of
// dynamic arrays the live parts count.
LeafComparison CompareBits(const hlo::Literal& actual, const hlo::Literal& expected);

// The index along each dimension of element `linear` of a row-major array.
std::vector<int64_t> IndexOf(int64_t linear, std::span<const int64_t> dimensions);

}  // namespace hloscope::debug
