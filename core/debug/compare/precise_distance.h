// How far a value is from the precise one.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/hlo/literal.h"

namespace hloscope::debug {

// Largest distances over all elements. An ULP is the step of the value's own type at the precise
// value, so that rounding it once costs at most half of one; of integers it is 1.
struct PreciseDistance {
  double max_ulp = 0;
  double max_abs_error = 0;
  int64_t class_mismatched = 0;  // NaN or infinite on one side only; nothing else counts them
  std::vector<int64_t> index;    // of the largest distance in ULP; empty: none, or a scalar
  // Of that element, of a complex one the part that is farther; NaN where no distance is above 0.
  double value = std::numeric_limits<double>::quiet_NaN();
  double precise = std::numeric_limits<double>::quiet_NaN();
};

// `value` of any element type, `precise` of the same dimensions with floats widened (WidenedShape).
PreciseDistance DistanceToPrecise(const hlo::Literal& value, const hlo::Literal& precise);

}  // namespace hloscope::debug
