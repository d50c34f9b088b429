// CudaTools: the programs of CUDA that turn PTX into machine code and print it, where this machine
// has them. Nothing is run.
#pragma once

#include <string>
#include <vector>

namespace hloscope::replay {

// Paths; empty where there is none.
struct CudaTools {
  std::string ptxas;      // PTX to machine code
  std::string nvdisasm;   // machine code as text, with the lines of PTX it was made from
  std::string cuobjdump;  // … without lines; what registers and memory a kernel takes
  std::vector<std::string> searched;
};

// Each tool from the first of these that has it: CUDA_HOME, CUDA_PATH, PATH, the wheels of NVIDIA
// and Triton in the active Python environments and in that of `scripts/setup --gpu`,
// /usr/local/cuda.
CudaTools FindCudaTools();

}  // namespace hloscope::replay
