// WrongElements: which elements of a result are clearly wrong, and which clearly right.
#pragma once

#include <cstdint>
#include <vector>

#include "core/debug/compare/compare_values.h"
#include "core/hlo/literal.h"

namespace hloscope::debug {

// Elements between neighbours of each dimension, as an array lies on a device.
std::vector<int64_t> StridesInMemory(const hlo::Shape& shape);

enum ElementState : uint8_t { kRightElement, kWrongElement, kUnclearElement };

// Of each element, as they lie in memory by the layout of `on_device`. An element is wrong whose
// error is not far below the largest, right one that is within the bounds and far below the
// largest; of integers every bit counts. Empty where elements are narrower than a byte.
std::vector<uint8_t> WrongElements(const hlo::Literal& actual, const hlo::Literal& expected,
                                   const hlo::Shape& on_device, const BoundsRequest& bounds);

}  // namespace hloscope::debug
