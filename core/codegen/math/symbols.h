// Calls of the functions that compiled code may call (core/linking/symbols.h).
#pragma once

#include <span>

#include "core/codegen/math/numbers.h"
#include "core/hlo/opcode.h"

namespace hloscope::codegen {

// `opcode` of floats (f32 or f64) through a function of the table, lane by lane; what is narrower
// than f64 is computed in f64 and rounded once. Null where the table has none.
llvm::Value* CallByLane(Builder& b, hlo::Opcode opcode, std::span<llvm::Value* const> operands);
// The same for complex numbers of that type.
llvm::Value* CallByLane(Builder& b, hlo::Opcode opcode, std::span<llvm::Value* const> operands,
                        hlo::ElementType type);

}  // namespace hloscope::codegen
