// Tilings a result may have where the file does not say which.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/hlo/sharding/tiling.h"

namespace hloscope::replay {

// Ways to cut into `tiles` among as many devices as `known` tilings have or, without any,
// `devices`: first the known ones that cut so, then those that meshes of the devices in order, or
// in the order of a known tiling, allow: each tile dimension takes some axes, the others hold
// copies. No more than a few hundred.
std::vector<hlo::Tiling> PossibleTilings(std::span<const int64_t> tiles, int64_t devices,
                                         std::span<const hlo::Tiling> known);

}  // namespace hloscope::replay
