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

// The other way: writes an array of the dimensions of `shape` to `to`, which has room for the array
// in the order of that shape's layout; `is_packed`: elements narrower than a byte share bytes.
// Unsupported: as above, or another size.
Status ToDeviceBytes(const hlo::Literal& array, const hlo::Shape& shape, bool is_packed,
                     std::byte* to);

}  // namespace hloscope::replay::pjrt
