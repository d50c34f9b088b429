// The library's entries.
#include "core/base/build_id.h"
#include "core/codegen/generate.h"
#include "core/codegen/kernel_library.h"
#include "core/codegen/library/library_calls.h"
#include "core/codegen/object.h"
#include "core/codegen/target.h"

namespace hloscope::codegen {
namespace {

std::string DescribeTarget(const std::string& cpu) {
  const std::string build = BuildIdAt(reinterpret_cast<const void*>(&DescribeTarget));
  return build.empty() ? build : build + TargetName(cpu);
}

}  // namespace
}  // namespace hloscope::codegen

// As C++: both sides are of one build.
extern "C" const hloscope::compile::GenerateKernelsFunction hloscope_generate_kernels =
    &hloscope::codegen::GenerateKernels;
extern "C" const hloscope::compile::MakeLibraryCallsFunction hloscope_make_library_calls =
    &hloscope::codegen::MakeLibraryCalls;
extern "C" const hloscope::compile::LoadKernelsFunction hloscope_load_kernels =
    &hloscope::codegen::LoadKernels;
extern "C" const hloscope::compile::DescribeTargetFunction hloscope_describe_target =
    &hloscope::codegen::DescribeTarget;
extern "C" const hloscope::compile::WriteObjectFunction hloscope_write_object =
    &hloscope::codegen::WriteObject;
