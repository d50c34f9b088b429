// Code of a GPU that takes turns or branches, for functions of scalars.
#pragma once

#include <functional>
#include <vector>

#include "core/codegen/math/numbers.h"

namespace hloscope::codegen {

// `otherwise`, or where the condition holds what `body` makes; it is not done elsewhere.
std::vector<llvm::Value*> Where(Builder& b, llvm::Value* condition,
                                std::vector<llvm::Value*> otherwise,
                                const std::function<std::vector<llvm::Value*>()>& body);

// body(values) as long as is_on(values).
std::vector<llvm::Value*> While(
    Builder& b, std::vector<llvm::Value*> values,
    const std::function<llvm::Value*(const std::vector<llvm::Value*>&)>& is_on,
    const std::function<std::vector<llvm::Value*>(const std::vector<llvm::Value*>&)>& body);

// C's fmod of f64, which is exact.
llvm::Value* DeviceRemainder(Builder& b, llvm::Value* x, llvm::Value* y);

}  // namespace hloscope::codegen
