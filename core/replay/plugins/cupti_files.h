// Where libcupti may lie.
#pragma once

#include <string>
#include <vector>

namespace hloscope::replay {

// Files of libcupti, the likeliest first: in a folder of LD_LIBRARY_PATH, beside the plugin of
// XLA:GPU, in the toolkit. Those that the system's loader finds by name are not among them.
std::vector<std::string> CuptiFiles();

}  // namespace hloscope::replay
