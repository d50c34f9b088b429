// What the values inside a module say about two platforms.
#pragma once

#include <string>

#include "core/debug/explain/diverge/verdict.h"

namespace hloscope::app {

// Lines behind the verdict.
std::string WalkText(const debug::DivergeVerdict& verdict);

}  // namespace hloscope::app
