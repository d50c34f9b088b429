// Fourier transforms as library calls.
#pragma once

#include "core/compile/kernel_code.h"

namespace hloscope::codegen {

// The call of an fft for which compile::IsLibraryCall says yes.
Result<compile::KernelCode> MakeFftCall(const hlo::Module& module, hlo::InstructionId fft);

}  // namespace hloscope::codegen
