// CheckProgram: what a DeviceRun relies on, since a dump is anybody's.
#pragma once

#include "core/replay/simulated/device_program.h"

namespace hloscope::replay {

// Input error where a size is negative or larger than any memory, a value lies outside of its
// allocation or in fewer bytes than its shape takes, or a launch is larger than a GPU allows.
Status CheckProgram(const DeviceProgram& program);

// The bytes of an array on the device: elements narrower than a byte packed, sizes of dynamic
// dimensions behind the elements. 0 for what is no array.
int64_t DeviceBytes(const hlo::Shape& shape);

}  // namespace hloscope::replay
