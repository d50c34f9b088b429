// Where a library of CUDA may lie.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hloscope::replay {

// Files of the libraries of these CUDAs whose sonames begin so, the likeliest first: in a folder of
// LD_LIBRARY_PATH, beside the plugin of XLA:GPU, in the toolkit. Those that the system's loader
// finds by name are not among them.
std::vector<std::string> CudaLibraryFiles(std::string_view beginning, std::span<const int> majors);

// Those of libcupti: of the driver's CUDA first (1000 · major + 10 · minor), or, where that is 0,
// of the plugin's.
std::vector<std::string> CuptiFiles(int driver = 0);

}  // namespace hloscope::replay
