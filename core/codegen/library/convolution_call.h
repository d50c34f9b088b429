// Convolutions as calls of oneDNN.
#pragma once

#include "core/compile/kernel_code.h"

namespace hloscope::codegen {

// The call for a convolution that is a library call; unsupported where oneDNN has no code for it on
// this processor.
Result<compile::KernelCode> MakeConvolutionCall(const hlo::Module& module,
                                                hlo::InstructionId convolution);

}  // namespace hloscope::codegen
