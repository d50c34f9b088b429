// GenerateKernels: machine code for the kernels of a module.
#pragma once

#include "core/compile/kernel_code.h"

namespace hloscope::codegen {

// Code for each of `kernels`, which must be kernels by compile::IsKernel. Errors: a target that
// LLVM does not know (unsupported), LLVM refuses what we wrote (internal).
Result<std::unique_ptr<compile::KernelLibrary>> GenerateKernels(
    std::shared_ptr<const hlo::Module> module, std::span<const hlo::InstructionId> kernels,
    const compile::CodegenOptions& options);

}  // namespace hloscope::codegen
