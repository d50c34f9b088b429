// Devices and the PTX they run. PTX for an architecture runs on it and on all that are newer
// (NVIDIA, PTX ISA, "Target").
#include "core/backends/pjrt/gpu_architecture.h"

#include <fmt/format.h>

#include <charconv>

#include "core/replay/gpu_targets.h"

namespace hloscope::replay {
namespace {

constexpr const char* kAmpere = "sm_80";
constexpr const char* kHopper = "sm_90";

}  // namespace

Result<std::string> GpuArchitecture(const std::string& target, const Limits& limits) {
  if (target == kAmpere || target == kHopper) return target;
  HLOSCOPE_ASSIGN_OR_RETURN(const std::string text, ReadGpuTarget(target, limits));
  int major = 0;  // where the text has no capability
  const std::string capability = ComputeCapability(text);
  std::from_chars(capability.data(), capability.data() + capability.size(), major);
  if (major >= 9) return std::string(kHopper);
  if (major == 8) return std::string(kAmpere);
  return UnsupportedError(
      major == 0 ? fmt::format("target {}: it has no CUDA compute capability", target)
                 : fmt::format("target {}: its compute capability is {}.x", target, major),
      "our own compiler targets NVIDIA devices of compute capability 8.0 and newer");
}

}  // namespace hloscope::replay
