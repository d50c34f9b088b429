// Elementwise instructions of complex numbers.
#pragma once

#include <span>

#include "core/codegen/math/numbers.h"
#include "core/hlo/opcode.h"

namespace hloscope::codegen {

// What an opcode yields of operands of that complex type, all vectors or all scalars; null where it
// is not defined for complex numbers. Comparisons are not among them.
llvm::Value* ComplexElementwise(Builder& b, hlo::Opcode opcode,
                                std::span<llvm::Value* const> operands, hlo::ElementType type);

// min(max(low, x), high), pairs ordered by their real parts, then by their imaginary ones.
llvm::Value* ComplexClamped(Builder& b, llvm::Value* low, llvm::Value* x, llvm::Value* high,
                            hlo::ElementType type);

llvm::Value* ComplexEqual(Builder& b, llvm::Value* x, llvm::Value* y, hlo::ElementType type);

}  // namespace hloscope::codegen
