// Calls by instruction, equal ones made once.
#pragma once

#include "core/compile/kernel_code.h"

namespace hloscope::codegen {

// Error kUnsupported: there is no code for it, so it is a kernel.
using MakeCallFunction = Result<compile::KernelCode> (*)(const hlo::Module&, hlo::InstructionId);
Result<std::unique_ptr<compile::KernelLibrary>> MakeCalls(std::shared_ptr<const hlo::Module> module,
                                                          std::span<const hlo::InstructionId> calls,
                                                          MakeCallFunction make);

}  // namespace hloscope::codegen
