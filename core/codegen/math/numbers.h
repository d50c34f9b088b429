// Numbers in registers: LLVM types by element type, and conversions between them.
//
// In registers pred is i1, f32 and f64 are themselves, and f16 and bf16 are their bits (i16), which
// are widened to f32 for arithmetic and rounded once behind it. A value is a vector, or a scalar
// that stands for equal lanes.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>

#include "core/hlo/element_type.h"

namespace hloscope::codegen {

using Builder = llvm::IRBuilder<>;

// The type of one element in a register, and in memory.
llvm::Type* RegisterType(Builder& b, hlo::ElementType type);
llvm::Type* MemoryType(Builder& b, hlo::ElementType type);

constexpr bool IsNarrowFloat(hlo::ElementType type) {
  return type == hlo::ElementType::kF16 || type == hlo::ElementType::kBF16;
}

// `type` in as many lanes as `like` has.
llvm::Type* LanesLike(llvm::Value* like, llvm::Type* type);
// A constant in as many lanes as `like` has and of its type, or of the given element type.
llvm::Constant* NumberLike(llvm::Value* like, double value);
llvm::Constant* IntegerLike(llvm::Value* like, int64_t value);

// f16 and bf16 as f32; others as they are.
llvm::Value* Widened(Builder& b, llvm::Value* x, hlo::ElementType type);
// f32 rounded to nearest even to f16 or bf16; others as they are. NaN becomes a quiet NaN.
llvm::Value* Rounded(Builder& b, llvm::Value* x, hlo::ElementType type);

// From memory to registers and back.
llvm::Value* FromMemory(Builder& b, llvm::Value* x, hlo::ElementType type);
llvm::Value* ToMemory(Builder& b, llvm::Value* x, hlo::ElementType type);

// HLO's convert: integers wrap; floats to integers round towards zero and saturate, NaN is 0;
// everything into a float is rounded once, to nearest even; anything but zero is a true pred.
llvm::Value* Converted(Builder& b, llvm::Value* x, hlo::ElementType from, hlo::ElementType to);

// The bits of a number as an integer of its width, and back.
llvm::Value* BitsOf(Builder& b, llvm::Value* x);
llvm::Value* IsNan(Builder& b, llvm::Value* x);

// An intrinsic of one type, of one or more operands of it.
llvm::Value* Call(Builder& b, llvm::Intrinsic::ID id, std::initializer_list<llvm::Value*> operands);

}  // namespace hloscope::codegen
