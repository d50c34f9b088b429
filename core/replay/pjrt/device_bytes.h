// Arrays as XLA lays them out in memory.
#pragma once

#include <cstddef>

#include "core/base/result.h"
#include "core/hlo/literal.h"

namespace hloscope::replay::pjrt {

// The array of `shape` whose elements lie at `data` in the order of the shape's layout, those
// narrower than a byte packed, the first in the lowest bits. A copy. Unsupported: dynamic shapes
// and tiles.
Result<hlo::Literal> FromDeviceBytes(const hlo::Shape& shape, const std::byte* data);

}  // namespace hloscope::replay::pjrt
