// Comparing two runs of the same thing: every bit must agree.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/debug/compare/compare_values.h"
#include "core/hlo/literal.h"

namespace hloscope::debug {

// As CompareArrays without any tolerance: -0 differs from 0, and NaNs must be of the same bits. Of
// dynamic arrays the live parts count.
LeafComparison CompareBits(const hlo::Literal& actual, const hlo::Literal& expected);

// Whether results that two runs of one module give, by device and leaf of `root`, are the same bit
// by bit; absent where no bit differs and a result has no value in one of the runs.
std::optional<bool> SameBits(const hlo::Shape& root,
                             const std::vector<std::vector<Result<hlo::Literal>>>& a,
                             const std::vector<std::vector<Result<hlo::Literal>>>& b);

// The index along each dimension of element `linear` of a row-major array.
std::vector<int64_t> IndexOf(int64_t linear, std::span<const int64_t> dimensions);

}  // namespace hloscope::debug
