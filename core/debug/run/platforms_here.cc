#include "core/debug/run/platforms_here.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/backends/jaxlib/find_jaxlib.h"
#include "core/backends/plugins/cuda_files.h"
#include "core/backends/plugins/plugins.h"

namespace hloscope::debug {
namespace {

constexpr const char* kNoDriver =
    "no NVIDIA driver and no GPU found; `hloscope doctor` says where it was looked for";

std::string MissingOf(const replay::PlatformRow& row, const replay::PluginFindings& found) {
  if (row.Has(replay::kNeedsPlugin) &&
      std::ranges::find(found.plugins, row.devices, &replay::PluginFile::devices) ==
          found.plugins.end()) {
    return fmt::format(
        "no plugin found: `{}` installs one, `hloscope doctor` says where it was looked for",
        replay::InstallCommand(row.devices));
  }
  if (row.Has(replay::kNeedsDriver) && !replay::CudaDriverIsThere()) return kNoDriver;
  if (row.Has(replay::kNeedsPython) && replay::FindJaxlibs({}).empty()) {
    return "no jaxlib in the active Python environments: activate one that has it, or set "
           "HLOSCOPE_PYTHON to its interpreter";
  }
  return {};
}

}  // namespace

std::vector<PlatformState> PlatformStates() {
  const replay::PluginFindings found = replay::FindPlugins({});
  std::vector<PlatformState> states;
  for (const replay::PlatformRow& row : replay::PlatformRows()) {
    PlatformState state{std::string(row.name), MissingOf(row, found), {}};
    if (row.devices == replay::Devices::kGpu && !replay::CudaDriverIsThere())
      state.no_device = kNoDriver;
    states.push_back(std::move(state));
  }
  return states;
}

std::vector<std::string> PlatformsHere() {
  std::vector<std::string> names;
  for (PlatformState& state : PlatformStates()) {
    if (state.missing.empty()) names.push_back(std::move(state.name));
  }
  return names;
}

}  // namespace hloscope::debug
