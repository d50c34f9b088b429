// Which product of a tensor core an instruction asks for.
#pragma once

#include "core/ptx/ir/program.h"
#include "core/ptx/tensor/tensor.h"

namespace hloscope::ptx {

// The form of an instruction of the class kTensor on sm_`target`; CheckMma says whether it can be
// computed.
MmaForm MmaFormOf(const Instruction& instruction, uint32_t target);

// How many products of two elements it sums, for all lanes together.
inline uint64_t ProductsOf(const MmaForm& form) {
  return static_cast<uint64_t>(form.m) * static_cast<uint64_t>(form.n) *
         static_cast<uint64_t>(form.k);
}

}  // namespace hloscope::ptx
