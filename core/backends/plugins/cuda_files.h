// Where the files of CUDA lie that XLA:GPU needs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/backends/plugins/plugins.h"

namespace hloscope::replay {

// The assembler and the device library; empty paths where they were not found.
struct CudaToolkit {
  std::string folder;  // that holds bin/ptxas and nvvm/libdevice
  std::string ptxas, libdevice;
  bool beside_plugin = false;  // in a wheel in the plugin's own folder of packages
  std::vector<std::string> searched;
};

// Searched in this order: the wheels beside the plugin, CUDA_HOME and CUDA_PATH, the folder of
// ptxas on PATH, /usr/local/cuda-N of the plugin's major version and /usr/local/cuda.
CudaToolkit FindCudaToolkit(const PluginFile& plugin);

// One library of CUDA that XLA:GPU or the profiler calls.
struct CudaLibrary {
  std::string_view soname, wheel_folder, wheel, purpose;
  int cuda_major;
};
std::vector<CudaLibrary> CudaLibraries(int cuda_major);

// Whether NVIDIA's driver can be expected to be of use: it is in a folder of LD_LIBRARY_PATH, or
// the kernel has devices of it. Nothing is loaded.
bool CudaDriverIsThere();

// The file of a library: beside the plugin, in a folder of LD_LIBRARY_PATH or in the toolkit;
// empty where it is in none of them (the system's own folders are not searched).
std::string FindCudaLibrary(const CudaLibrary& library, const PluginFile& plugin,
                            const CudaToolkit& toolkit);

}  // namespace hloscope::replay
