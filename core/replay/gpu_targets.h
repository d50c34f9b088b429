// GPU targets: devices that modules are compiled for without being here, as GpuTargetConfigProtos.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"

namespace hloscope::replay {

// The devices described in assets/gpu-targets, sorted.
std::vector<std::string> GpuTargetNames();

// The description of a device, as text: that of the name, or the file's.
Result<std::string> ReadGpuTarget(const std::string& name_or_file, const Limits& limits);

/// "9.0": the compute capability in a GpuTargetConfigProto's text; empty: it has none.
std::string ComputeCapability(std::string_view target);
/// The first described device of an architecture, "sm_90" or "sm_90a"; empty: there is none.
std::string GpuTargetOf(std::string_view architecture, const Limits& limits);

}  // namespace hloscope::replay
