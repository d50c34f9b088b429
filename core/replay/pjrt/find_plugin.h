// FindPlugin: the file of a platform's plugin.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hloscope::replay::pjrt {

// The plugin of a platform ("xla-cpu", "xla-gpu"), the first that ResolvePlugin finds. Environment
// error: there is none.
Result<std::string> FindPlugin(std::string_view platform);

}  // namespace hloscope::replay::pjrt
