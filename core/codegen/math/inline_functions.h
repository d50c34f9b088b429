// Functions of numbers as code, of a GPU or of vectors on a CPU.
#pragma once

#include "core/codegen/math/numbers.h"
#include "core/hlo/opcode.h"

namespace hloscope::codegen {

// True while a module for a GPU is written.
bool WritesForGpu(const Builder& b);

// An instruction of a GPU that only computes: LLVM does not know of all that they return, and would
// not move what stands around them.
llvm::Value* DeviceInstruction(Builder& b, llvm::Intrinsic::ID id, llvm::Value* x);

// The function of numbers of f32 or f64, computed in f64; null where there is none. The remainder
// is of scalars. On a CPU angles above 2^20 are the runtime's. Errors in units in the last place of
// f64: sine, cosine, exponentials, logarithms and roots below 1, functions made of two of them
// below 4, erf below 5, power below 9.
llvm::Value* InlineFunction(Builder& b, hlo::Opcode opcode, std::span<llvm::Value* const> operands);

}  // namespace hloscope::codegen
