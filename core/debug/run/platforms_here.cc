#include "core/debug/run/platforms_here.h"

#include <algorithm>

#include "core/backends/jaxlib/find_jaxlib.h"
#include "core/backends/plugins/cuda_files.h"
#include "core/backends/plugins/plugins.h"

namespace hloscope::debug {

std::vector<std::string> PlatformsHere() {
  const replay::PluginFindings found = replay::FindPlugins({});
  std::vector<std::string> names;
  for (const replay::PlatformRow& row : replay::PlatformRows()) {
    bool here = !row.Has(replay::kNeedsPlugin) ||
                std::ranges::find(found.plugins, row.devices, &replay::PluginFile::devices) !=
                    found.plugins.end();
    if (row.Has(replay::kNeedsDriver)) here = replay::CudaDriverIsThere();
    if (row.Has(replay::kNeedsPython)) here = !replay::FindJaxlibs({}).empty();
    if (here) names.emplace_back(row.name);
  }
  return names;
}

}  // namespace hloscope::debug
