// Asking the code generator for PTX.
#include "core/replay/compiled/gpu_backend.h"

#include <utility>

#include "core/replay/codegen_entry.h"

namespace hloscope::replay {

void GpuBackend::Ask(compile::CompileOptions& how) const {
  how.library_calls = false;
  how.fft_kernels = true;
}

Result<WrittenCode> GpuBackend::Keep(const compile::Compilation&,
                                     std::unique_ptr<compile::KernelLibrary>) const {
  return InternalError("code for a GPU is not kept");
}

Result<compile::GpuCode> GpuBackend::Generate(const compile::Compilation& compilation,
                                              const RunOptions& options, const std::string& target,
                                              WrittenCode& out) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto generate, CodegenEntry<compile::GenerateGpuCodeFunction>(
                                                     compile::kGenerateGpuCode));
  HLOSCOPE_ASSIGN_OR_RETURN(compile::GpuCode code,
                            generate(compilation.module, compilation.kernels,
                                     {.threads = options.threads, .target = target}));
  for (const compile::GpuCode::Refused& refused : code.refused) {
    out.missing.emplace(refused.instruction, refused.why);
  }
  return code;
}

}  // namespace hloscope::replay
