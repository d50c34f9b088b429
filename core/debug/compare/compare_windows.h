// Comparing two arrays of files of which no more than a window each is in memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/result.h"
#include "core/debug/compare/compare_values.h"
#include "core/dump/tensors/array_windows.h"
#include "core/dump/tensors/named_values.h"

namespace hloscope::debug {

// Bytes of a window of one array, at the least one piece (array_comparison.h) of its elements.
constexpr int64_t kWindowBytes = int64_t{8} << 20;

// As CompareArrays of the arrays as types that can be compared (dump::TypeWith), with the same
// result. Errors: those of reading.
Result<LeafComparison> CompareWindows(dump::ArrayWindows& actual, dump::ArrayWindows& expected,
                                      const BoundsRequest& request);

struct FileComparison {
  LeafComparison comparison;
  bool both_raw = false;  // what was compared are bytes that neither file names the type of
};
// Of one value of each set: in windows where both have them.
Result<FileComparison> CompareValues(const dump::ValueSet& a, size_t k, const dump::ValueSet& b,
                                     size_t i, const BoundsRequest& request);

}  // namespace hloscope::debug
