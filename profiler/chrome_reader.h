// Reading of Chrome's JSON traces (.trace.json), as JAX, XProf and Perfetto write them.
#pragma once

#include <memory>
#include <stop_token>

#include "profiler/profile.h"

namespace hloscope::profiler {

// As ReadProfile, of bytes that are IsChromeTrace.
Result<std::shared_ptr<const Profile>> ReadChromeTrace(const FileView& file, const Limits& limits,
                                                       Jobs& jobs, const std::stop_token& stop);

}  // namespace hloscope::profiler
