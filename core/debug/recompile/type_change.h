// What two types, or two shardings, of one argument say of why it was compiled again.
#pragma once

#include <string>
#include <string_view>

#include "core/debug/recompile/recompilation.h"

namespace hloscope::debug {

// Of types such as "f32[8,16]" or "f32[]{weak_type=True}"; what differs otherwise is a sharding.
RecompileCause CauseOfTypes(std::string argument, std::string_view from, std::string_view to);
// Of shardings as JAX prints them: one device and another, or two ways of spreading it.
RecompileCause CauseOfMapping(std::string argument, std::string_view from, std::string_view to);

}  // namespace hloscope::debug
