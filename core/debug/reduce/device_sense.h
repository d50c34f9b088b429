// What a module says of the devices that it is for, which reductions keep true.
#pragma once

#include "core/hlo/module.h"

namespace hloscope::debug {

/// True if the header counts as many devices as the instructions need, and each manual region of
/// Shardy (shard_map) is one call, as JAX writes it: all that the call takes enters the region for
/// it, and all that leaves the region comes from it. XLA takes the call's values at a border
/// whatever the border's operands are (Shardy: shard_map_import), and refuses groups of devices
/// that the header does not count: a module where this is not true means something else to XLA than
/// it says.
bool IsTrueOfDevices(const hlo::Module& module);

}  // namespace hloscope::debug
