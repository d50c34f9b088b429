// Functions of complex numbers as code of a GPU, where the CPU calls the runtime.
#pragma once

#include <span>

#include "core/codegen/math/numbers.h"
#include "core/hlo/opcode.h"

namespace hloscope::codegen {

// The function of scalars of c64 or c128, computed in f64 and rounded once; null where there is
// none. c64 within 4 units in the last place of each part; c128 within 100 of the larger part,
// since it has no wider numbers to compute in. Annex G of C says what infinities and NaN give.
llvm::Value* DeviceComplexFunction(Builder& b, hlo::Opcode opcode,
                                   std::span<llvm::Value* const> operands, hlo::ElementType type);

}  // namespace hloscope::codegen
