// Functions of complex numbers as code, of a GPU or of vectors on a CPU.
#pragma once

#include <span>

#include "core/codegen/math/numbers.h"
#include "core/hlo/opcode.h"

namespace hloscope::codegen {

// The function of numbers of c64 or c128, computed in f64 and rounded once; null where there is
// none. c64 within a unit in the last place of each part, c128 within 4, but for the tangents and
// rsqrt, within 6, and logistic and exponential-minus-one, whose parts may cancel: c128 has no
// wider numbers to compute in, and no power here. Annex G of C says what infinities and NaN give.
// `is_lost`, where the caller has another way, gets where what cancels is more than 1e-13 of a part
// of logistic and exponential-minus-one, and where a power of c64 is not within 1e-14 of its size
// or a part is next to nothing of it; null for other functions.
llvm::Value* InlineComplexFunction(Builder& b, hlo::Opcode opcode,
                                   std::span<llvm::Value* const> operands, hlo::ElementType type,
                                   llvm::Value** is_lost = nullptr);

}  // namespace hloscope::codegen
