// Reading of an XSpace (.xplane.pb) straight from its wire format.
#pragma once

#include <memory>
#include <stop_token>

#include "profiler/profile.h"

namespace hloscope::profiler {

// As ReadProfile, of bytes that IsXSpace.
Result<std::shared_ptr<const Profile>> ReadXSpace(const FileView& file, Jobs& jobs,
                                                  const std::stop_token& stop);

}  // namespace hloscope::profiler
