// Numbers in registers: LLVM types by element type, and conversions between them.
//
// In registers pred is i1, f32 and f64 are themselves, integers have as many bits as their type
// says, and narrower floats are their bits (i16, i8), which are widened for arithmetic and rounded
// once behind it. A complex number is its bytes as one integer, the real part in the lower half. A
// value is a vector, or a scalar that stands for equal lanes.
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
  return hlo::IsFloat(type) && hlo::BitWidth(type) < 32;
}
// The type that numbers of `type` are computed in: another one for narrow floats alone.
constexpr hlo::ElementType WideType(hlo::ElementType type) {
  if (type == hlo::ElementType::kF8E8M0FNU) return hlo::ElementType::kF64;
  return IsNarrowFloat(type) ? hlo::ElementType::kF32 : type;
}

// `type` in as many lanes as `like` has.
llvm::Type* LanesLike(llvm::Value* like, llvm::Type* type);
// A constant in as many lanes as `like` has and of its type, or of the given element type.
llvm::Constant* NumberLike(llvm::Value* like, double value);
llvm::Constant* IntegerLike(llvm::Value* like, int64_t value);

// Numbers of the type in their wide type.
llvm::Value* Widened(Builder& b, llvm::Value* x, hlo::ElementType type);
// From the wide type, rounded to nearest even. NaN becomes a quiet NaN.
llvm::Value* Rounded(Builder& b, llvm::Value* x, hlo::ElementType type);

// From memory to registers and back.
llvm::Value* FromMemory(Builder& b, llvm::Value* x, hlo::ElementType type);
llvm::Value* ToMemory(Builder& b, llvm::Value* x, hlo::ElementType type);

// HLO's convert: integers wrap; floats to integers round towards zero and saturate, NaN is 0;
// everything into a float is rounded once, to nearest even; anything but zero is a true pred; of
// complex numbers the real part counts, and real ones have no imaginary part.
llvm::Value* Converted(Builder& b, llvm::Value* x, hlo::ElementType from, hlo::ElementType to);

// The parts of complex numbers of that type.
struct Parts {
  llvm::Value *real, *imag;
};
Parts PartsOf(Builder& b, llvm::Value* x, hlo::ElementType type);
llvm::Value* FromParts(Builder& b, Parts parts, hlo::ElementType type);

// The bits of a number as an integer of its width, and back.
llvm::Value* BitsOf(Builder& b, llvm::Value* x);
llvm::Value* IsNan(Builder& b, llvm::Value* x);

// An intrinsic of one type, of one or more operands of it.
llvm::Value* Call(Builder& b, llvm::Intrinsic::ID id, std::initializer_list<llvm::Value*> operands);

}  // namespace hloscope::codegen
