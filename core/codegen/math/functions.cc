// Which code computes a function of floating-point numbers.
#include "core/codegen/math/functions.h"

#include <llvm/IR/Intrinsics.h>

#include "core/codegen/math/inline_functions.h"
#include "core/codegen/math/symbols.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::codegen {

using hlo::Opcode;
using llvm::Value;

namespace {

constexpr hlo::OpcodeTable<Expression (*)(Expression x)> kSingle = {
    {Opcode::kCos, Cos},           {Opcode::kErf, Erf}, {Opcode::kExp, Exp},
    {Opcode::kExpm1, Expm1},       {Opcode::kLog, Log}, {Opcode::kLog1p, Log1p},
    {Opcode::kLogistic, Logistic}, {Opcode::kSin, Sin}, {Opcode::kTanh, Tanh},
};

constexpr hlo::OpcodeTable<llvm::Intrinsic::ID> kIntrinsics = {
    {Opcode::kCeil, llvm::Intrinsic::ceil},
    {Opcode::kFloor, llvm::Intrinsic::floor},
    {Opcode::kRoundNearestAfz, llvm::Intrinsic::round},
    {Opcode::kRoundNearestEven, llvm::Intrinsic::roundeven},
    {Opcode::kSqrt, llvm::Intrinsic::sqrt},
};

// Functions that CPUs compute as GPUs do, in f64 by lanes of vectors: of f32, and those of f64 that
// stay within 2 ulp.
constexpr hlo::OpcodeSet kInDouble = {Opcode::kAbs,   Opcode::kAcos, Opcode::kAcosh, Opcode::kAsin,
                                      Opcode::kAsinh, Opcode::kAtan, Opcode::kAtan2, Opcode::kAtanh,
                                      Opcode::kCbrt,  Opcode::kCosh, Opcode::kSinh,  Opcode::kTan};
constexpr hlo::OpcodeSet kOfDouble = {Opcode::kAbs, Opcode::kExp, Opcode::kTanh};

Value* OfSingle(Builder& b, Opcode opcode, std::span<Value* const> operands) {
  if (opcode == Opcode::kPower) {
    return Power({b, operands[0]}, {b, operands[1]}).value();
  }
  const auto single = kSingle[opcode];
  return single == nullptr ? nullptr : single({b, operands[0]}).value();
}

}  // namespace

Value* Function(Builder& b, Opcode opcode, std::span<Value* const> operands) {
  Value* x = operands[0];
  const llvm::Intrinsic::ID intrinsic = kIntrinsics[opcode];
  if (intrinsic != llvm::Intrinsic::not_intrinsic) return Call(b, intrinsic, {x});
  if (opcode == Opcode::kRsqrt) {
    return b.CreateFDiv(NumberLike(x, 1), Call(b, llvm::Intrinsic::sqrt, {x}));
  }
  const bool is_single = x->getType()->getScalarType()->isFloatTy();
  if (is_single) {
    if (Value* value = OfSingle(b, opcode, operands)) return value;
  }
  if ((is_single ? kInDouble : kOfDouble).Has(opcode)) return InlineFunction(b, opcode, operands);
  return CallByLane(b, opcode, operands);
}

}  // namespace hloscope::codegen
