// The Python text that a child of the platform jaxlib runs.
#pragma once

#include <string_view>

namespace hloscope::replay {

// jaxlib_child.py, as it was when this program was built.
std::string_view JaxlibChildScript();

}  // namespace hloscope::replay
