// What `profile` says of the critical path.
#pragma once

#include <string>

#include "core/base/json.h"
#include "profiler/critical_path.h"

namespace hloscope::app {

// Sums, how the path was found, and the `top` instructions or events of most time on it.
std::string CriticalPathText(const profiler::Attribution& attribution,
                             const profiler::CriticalPath& path, size_t top);
// "critical_path": its first steps in order of time, with "critical_path_sums" beside it.
void AppendCriticalPath(const profiler::Attribution& attribution,
                        const profiler::CriticalPath& path, JsonWriter& json);

}  // namespace hloscope::app
