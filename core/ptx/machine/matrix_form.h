// Which product of a tensor core an instruction asks for.
#pragma once

#include "core/ptx/ir/program.h"
#include "core/ptx/tensor/tensor.h"

namespace hloscope::ptx {

// The form of an instruction of the class kTensor on sm_`target`; CheckMma says whether it can be
// computed.
MmaForm MmaFormOf(const Instruction& instruction, uint32_t target);

}  // namespace hloscope::ptx
