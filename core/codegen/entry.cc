// The library's one entry.
#include "core/codegen/generate.h"

// As C++: both sides are of one build.
extern "C" const hloscope::compile::GenerateKernelsFunction hloscope_generate_kernels =
    &hloscope::codegen::GenerateKernels;
