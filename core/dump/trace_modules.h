// The modules that a trace of XLA's profiler (XSpace, .xplane.pb) carries.
#pragma once

#include <string_view>

#include "core/base/limits.h"
#include "core/dump/module_parts.h"

namespace hloscope::dump {

// HloProtos in the stats of the event metadata of the plane /host:metadata, as parts of `bytes`;
// none where it is no XSpace or has none. At most the limit archive-members.
ModuleParts ModulesOfTrace(std::string_view bytes, const Limits& limits);

}  // namespace hloscope::dump
