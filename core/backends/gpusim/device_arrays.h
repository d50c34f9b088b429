// Arrays as XLA:GPU lays them out: elements in the order of the layout, those narrower than a byte
// packed where the slice is that small. Of a dynamic array the live part comes dense at the start,
// and behind room for the bound its sizes, an s32 for each dimension (XLA: EmitPadToStatic).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "core/hlo/literal.h"

namespace hloscope::replay {

// The bytes of an array, packed; 0 for what is no array.
int64_t DeviceBytes(const hlo::Shape& shape);

// `memory` must hold at least DeviceBytes(shape). Unsupported: tiles.
Result<hlo::Literal> ReadDeviceArray(const hlo::Shape& shape, std::span<const std::byte> memory);
// Unsupported: as above, or an array of another size.
Status WriteDeviceArray(const hlo::Literal& array, const hlo::Shape& shape,
                        std::span<std::byte> memory);

}  // namespace hloscope::replay
