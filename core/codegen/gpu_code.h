// GenerateGpuCode: PTX for the kernels of a module.
#pragma once

#include "core/compile/gpu_code.h"

namespace hloscope::codegen {

// PTX for each of `kernels`, which must be kernels by compile::IsKernel.
Result<compile::GpuCode> GenerateGpuCode(std::shared_ptr<const hlo::Module> module,
                                         std::span<const hlo::InstructionId> kernels,
                                         const compile::GpuCodeOptions& options);

}  // namespace hloscope::codegen
