// Functions of complex numbers as code, of a GPU or of vectors on a CPU.
#pragma once

#include <span>

#include "core/codegen/math/numbers.h"
#include "core/hlo/opcode.h"

namespace hloscope::codegen {

// The function of numbers of c64 or c128, computed in f64 and rounded once; null where there is
// none. c64 within a unit in the last place of each part, c128 within 4, but for the tangents,
// logistic, rsqrt, power and exponential-minus-one, whose parts may cancel: c128 has no wider
// numbers to compute in. Annex G of C says what infinities and NaN give.
llvm::Value* InlineComplexFunction(Builder& b, hlo::Opcode opcode,
                                   std::span<llvm::Value* const> operands, hlo::ElementType type);

}  // namespace hloscope::codegen
