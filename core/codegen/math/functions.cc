// Which code computes a function of floating-point numbers.
#include "core/codegen/math/functions.h"

#include <llvm/IR/Intrinsics.h>

#include "core/codegen/math/symbols.h"

namespace hloscope::codegen {

using hlo::Opcode;
using llvm::Value;

Value* Function(Builder& b, Opcode opcode, std::span<Value* const> operands) {
  Value* x = operands[0];
  switch (opcode) {
    case Opcode::kCeil:
      return Call(b, llvm::Intrinsic::ceil, {x});
    case Opcode::kFloor:
      return Call(b, llvm::Intrinsic::floor, {x});
    case Opcode::kRoundNearestAfz:
      return Call(b, llvm::Intrinsic::round, {x});
    case Opcode::kRoundNearestEven:
      return Call(b, llvm::Intrinsic::roundeven, {x});
    case Opcode::kSqrt:
      return Call(b, llvm::Intrinsic::sqrt, {x});
    case Opcode::kRsqrt:
      return b.CreateFDiv(NumberLike(x, 1), Call(b, llvm::Intrinsic::sqrt, {x}));
    default:
      return CallByLane(b, opcode, operands);
  }
}

}  // namespace hloscope::codegen
