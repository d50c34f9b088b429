// The platforms that this machine can run modules on.
#pragma once

#include <string>
#include <vector>

namespace hloscope::debug {

// By name, in the order of the table: those whose plugin, driver or Python environment is there.
// Nothing is loaded.
std::vector<std::string> PlatformsHere();

}  // namespace hloscope::debug
