// CheckProgram: what a DeviceRun relies on, since a dump is anybody's.
#pragma once

#include "core/backends/gpusim/device_program.h"

namespace hloscope::replay {

// Input error where a size is negative or larger than any memory, a value lies outside of its
// allocation or in fewer bytes than its shape takes, or a launch is larger than a GPU allows.
Status CheckProgram(const DeviceProgram& program);

}  // namespace hloscope::replay
