// Functions of numbers as code of a GPU, where the CPU calls the runtime.
#pragma once

#include "core/codegen/math/numbers.h"
#include "core/hlo/opcode.h"

namespace hloscope::codegen {

// True while a module for a GPU is written.
bool WritesForGpu(const Builder& b);

// An instruction of a GPU that only computes: LLVM does not know of all that they return, and would
// not move what stands around them.
llvm::Value* DeviceInstruction(Builder& b, llvm::Intrinsic::ID id, llvm::Value* x);

// The function of scalars of f32 or f64, computed in f64; null where there is none. Errors in units
// in the last place of f64: sine, cosine, exponentials, logarithms and roots below 1, functions
// made of two of them below 4, erf below 5, power below 9.
llvm::Value* DeviceFunction(Builder& b, hlo::Opcode opcode, std::span<llvm::Value* const> operands);

// x to the power of y modulo 2^64; a negative exponent is 1/x^|y| rounded towards zero.
llvm::Value* DevicePower(Builder& b, llvm::Value* x, llvm::Value* y, bool is_signed);

}  // namespace hloscope::codegen
