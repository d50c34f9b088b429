// Floats narrower than f32 as vector code: from their bits to f32 or f64 and back, as
// core/hlo/float_types.h has it.
#pragma once

#include "core/codegen/math/numbers.h"

namespace hloscope::codegen {

// The numbers that bits stand for, exactly: f64 for f8e8m0fnu, f32 for all others.
llvm::Value* DecodedFloat(Builder& b, llvm::Value* bits, hlo::ElementType type);
// The nearest ones of the type, ties to even, of numbers that DecodedFloat could have given.
llvm::Value* EncodedFloat(Builder& b, llvm::Value* x, hlo::ElementType type);

// Bits as integers (i32) in the total order of the type: -NaN < -inf < … < -0 < +0 < … < NaN; the
// one NaN of the fnuz types comes first.
llvm::Value* SmallTotalOrderKey(Builder& b, llvm::Value* bits, hlo::ElementType type);

}  // namespace hloscope::codegen
