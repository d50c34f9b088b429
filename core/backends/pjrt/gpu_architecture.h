// GpuArchitecture: for which of the architectures that we write PTX for a device is compiled.
#pragma once

#include <string>

#include "core/base/limits.h"
#include "core/base/result.h"

namespace hloscope::replay {

// "sm_80" or "sm_90", the newest that runs on the device: `target` is that itself, a name that
// GpuTargetNames() gives, or a file with a GpuTargetConfigProto as text. Unsupported for devices
// older than compute capability 8.0; input where there is no such device.
Result<std::string> GpuArchitecture(const std::string& target, const Limits& limits);

}  // namespace hloscope::replay
