// Where the plugin's partitioner put the parts of each leaf.
#pragma once

#include "core/replay/pjrt/adapt.h"
#include "core/replay/pjrt/client.h"

namespace hloscope::replay::pjrt {

// Sets the tilings of the leaves to what the compiled program says, where it does: partitioning may
// have chosen shardings that the module left open. Fails where the program has a size that no
// tiling known here explains.
Status FindTilings(const ClientHandle& client, const LoadedProgram& program, Adapted& adapted);

}  // namespace hloscope::replay::pjrt
