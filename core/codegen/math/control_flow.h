// Loops and branches within functions of numbers. Of vectors a condition holds where any lane's
// does.
#pragma once

#include <functional>
#include <vector>

#include "core/codegen/math/numbers.h"

namespace hloscope::codegen {

// The condition as one bit.
llvm::Value* AnyLane(Builder& b, llvm::Value* condition);

// `otherwise`, or in the lanes where the condition holds what `body` makes; it does not run where
// no lane's does.
std::vector<llvm::Value*> Where(Builder& b, llvm::Value* condition,
                                std::vector<llvm::Value*> otherwise,
                                const std::function<std::vector<llvm::Value*>()>& body);

// body(values) as long as is_on(values).
std::vector<llvm::Value*> While(
    Builder& b, std::vector<llvm::Value*> values,
    const std::function<llvm::Value*(const std::vector<llvm::Value*>&)>& is_on,
    const std::function<std::vector<llvm::Value*>(const std::vector<llvm::Value*>&)>& body);

// C's fmod of scalars of f64, which is exact.
llvm::Value* FloatRemainder(Builder& b, llvm::Value* x, llvm::Value* y);

// x to the power of y, wrapped; a negative exponent is 1/x^|y| rounded towards zero.
llvm::Value* IntegerPower(Builder& b, llvm::Value* x, llvm::Value* y, bool is_signed);

}  // namespace hloscope::codegen
