// Library calls, made for the shapes of a module.
#pragma once

#include "core/compile/kernel_code.h"

namespace hloscope::codegen {

// The calls among `calls`, which must be library calls by compile::IsLibraryCall, that this
// processor has code for. Equal ones are made once.
Result<std::unique_ptr<compile::KernelLibrary>> MakeLibraryCalls(
    std::shared_ptr<const hlo::Module> module, std::span<const hlo::InstructionId> calls);
// The transforms among them, which are ours; there are no kernels of transforms.
Result<std::unique_ptr<compile::KernelLibrary>> MakeTransformCalls(
    std::shared_ptr<const hlo::Module> module, std::span<const hlo::InstructionId> calls);

}  // namespace hloscope::codegen
