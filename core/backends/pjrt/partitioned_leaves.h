// Where the plugin's partitioner put the parts of each leaf.
#pragma once

#include <string_view>

#include "core/backends/pjrt/adapt.h"

namespace hloscope::replay::pjrt {

// Sets the tilings of the leaves to what the compiled program, HloModuleProto, says, where it does:
// partitioning may have chosen shardings that the module left open. Fails where the program has a
// size that no tiling known here explains. False: the program cannot be read.
Result<bool> FindTilings(std::string_view optimized_module, Adapted& adapted);

}  // namespace hloscope::replay::pjrt
