// The library's entries.
#include "core/codegen/generate.h"
#include "core/codegen/library/library_calls.h"

// As C++: both sides are of one build.
extern "C" const hloscope::compile::GenerateKernelsFunction hloscope_generate_kernels =
    &hloscope::codegen::GenerateKernels;
extern "C" const hloscope::compile::MakeLibraryCallsFunction hloscope_make_library_calls =
    &hloscope::codegen::MakeLibraryCalls;
