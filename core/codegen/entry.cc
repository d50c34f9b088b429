// The library's entries.
#include "core/base/own_library_entry.h"
#include "core/codegen/generate.h"
#include "core/codegen/gpu_code.h"
#include "core/codegen/library/library_calls.h"
#include "core/codegen/object.h"
#include "core/codegen/target.h"

HLOSCOPE_OWN_LIBRARY

// As C++: both sides are of one build.
extern "C" const hloscope::compile::GenerateKernelsFunction hloscope_generate_kernels =
    &hloscope::codegen::GenerateKernels;
extern "C" const hloscope::compile::GenerateGpuCodeFunction hloscope_generate_gpu_code =
    &hloscope::codegen::GenerateGpuCode;
extern "C" const hloscope::compile::MakeLibraryCallsFunction hloscope_make_transform_calls =
    &hloscope::codegen::MakeTransformCalls;
extern "C" const hloscope::compile::HasByteProductsFunction hloscope_has_byte_products =
    &hloscope::codegen::HasByteProducts;
extern "C" const hloscope::compile::WriteObjectFunction hloscope_write_object =
    &hloscope::codegen::WriteObject;
