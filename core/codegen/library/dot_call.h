// Dots as calls of oneDNN.
#pragma once

#include <optional>

#include "core/compile/kernel_code.h"

namespace hloscope::codegen {

// The call for a dot that is a library call; unsupported where oneDNN has no code for its types on
// this processor.
Result<compile::KernelCode> MakeDotCall(const hlo::Module& module, hlo::InstructionId dot);

}  // namespace hloscope::codegen
