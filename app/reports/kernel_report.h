// How a kernel of a dump is launched, as JSON.
#pragma once

#include "core/base/json.h"
#include "core/dump/dump_model.h"

namespace hloscope::app {

// The fields `launch` (blocks, threads, cluster; null where it is unknown) and, where they are
// known, `launch_source`, `max_threads`, `registers`, `shared_bytes` and `local_bytes`.
void WriteLaunch(const dump::Kernel& kernel, JsonWriter& json);

}  // namespace hloscope::app
