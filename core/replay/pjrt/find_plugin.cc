// The file of a platform's plugin, found where plugins.h says.
#include "core/replay/pjrt/find_plugin.h"

#include "core/replay/plugins.h"

namespace hloscope::replay::pjrt {

Result<std::string> FindPlugin(std::string_view platform) {
  HLOSCOPE_ASSIGN_OR_RETURN(PluginFile plugin, ResolvePlugin(platform, {}));
  return std::move(plugin.path);
}

}  // namespace hloscope::replay::pjrt
