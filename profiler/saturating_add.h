// SaturatingAdd: totals of numbers that come from files.
#pragma once

#include <concepts>
#include <limits>

#include "core/base/checked.h"

namespace hloscope::profiler {

// The sum; where that does not fit, the nearest number that does.
template <std::signed_integral T>
constexpr T SaturatingAdd(T a, T b) {
  if (const std::optional<T> sum = CheckedAdd(a, b)) return *sum;
  return b < 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
}

}  // namespace hloscope::profiler
