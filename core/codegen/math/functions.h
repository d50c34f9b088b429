// Functions of floating-point numbers as vector code.
#pragma once

#include "core/codegen/math/numbers.h"
#include "core/hlo/opcode.h"

namespace hloscope::codegen {

// The function of `opcode` of numbers of f32 or f64; the table in ../README.md says how accurate
// each is. Null where the opcode is no function of floating-point numbers.
llvm::Value* Function(Builder& b, hlo::Opcode opcode, std::span<llvm::Value* const> operands);

}  // namespace hloscope::codegen
