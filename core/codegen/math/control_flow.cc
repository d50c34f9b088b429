// Branches, turns, and the functions that need them.
#include "core/codegen/math/control_flow.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include "core/codegen/math/inline_functions.h"

namespace hloscope::codegen {

using llvm::BasicBlock;
using llvm::Value;

Value* AnyLane(Builder& b, Value* condition) {
  return condition->getType()->isVectorTy() ? b.CreateOrReduce(condition) : condition;
}

std::vector<Value*> Where(Builder& b, Value* condition, std::vector<Value*> otherwise,
                          const std::function<std::vector<Value*>()>& body) {
  BasicBlock* before = b.GetInsertBlock();
  auto* inside = BasicBlock::Create(b.getContext(), "where", before->getParent());
  auto* behind = BasicBlock::Create(b.getContext(), "behind", before->getParent());
  b.CreateCondBr(AnyLane(b, condition), inside, behind);
  b.SetInsertPoint(inside);
  std::vector<Value*> made = body();
  if (condition->getType()->isVectorTy()) {
    for (size_t i = 0; i < made.size(); ++i) {
      made[i] = b.CreateSelect(condition, made[i], otherwise[i]);
    }
  }
  BasicBlock* last = b.GetInsertBlock();
  b.CreateBr(behind);
  b.SetInsertPoint(behind);
  for (size_t i = 0; i < made.size(); ++i) {
    llvm::PHINode* phi = b.CreatePHI(made[i]->getType(), 2);
    phi->addIncoming(otherwise[i], before);
    phi->addIncoming(made[i], last);
    otherwise[i] = phi;
  }
  return otherwise;
}

std::vector<Value*> While(
    Builder& b, std::vector<Value*> values,
    const std::function<Value*(const std::vector<Value*>&)>& is_on,
    const std::function<std::vector<Value*>(const std::vector<Value*>&)>& body) {
  BasicBlock* before = b.GetInsertBlock();
  auto* test = BasicBlock::Create(b.getContext(), "test", before->getParent());
  auto* turn = BasicBlock::Create(b.getContext(), "turn", before->getParent());
  auto* behind = BasicBlock::Create(b.getContext(), "behind", before->getParent());
  b.CreateBr(test);
  b.SetInsertPoint(test);
  std::vector<llvm::PHINode*> phis;
  for (Value*& value : values) {
    phis.push_back(b.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
    value = phis.back();
  }
  b.CreateCondBr(is_on(values), turn, behind);
  b.SetInsertPoint(turn);
  const std::vector<Value*> next = body(values);
  for (size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(next[i], b.GetInsertBlock());
  b.CreateBr(test);
  b.SetInsertPoint(behind);
  return values;
}

// Both as integers times a power of two; the larger is divided eleven bits at a time, as many as
// fit beside a mantissa.
Value* FloatRemainder(Builder& b, Value* x, Value* y) {
  llvm::Type* word = b.getInt64Ty();
  const auto number = [&](uint64_t n) { return b.getInt64(n); };
  constexpr uint64_t kMantissa = (uint64_t{1} << 52) - 1;
  struct Split {
    Value *mantissa, *exponent;
  };
  const auto split = [&](Value* value) -> Split {
    Value* bits = b.CreateBitCast(Call(b, llvm::Intrinsic::fabs, {value}), word);
    Value* exponent = b.CreateLShr(bits, 52);
    Value* fraction = b.CreateAnd(bits, number(kMantissa));
    Value* is_denormal = b.CreateICmpEQ(exponent, number(0));
    return {b.CreateSelect(is_denormal, fraction, b.CreateOr(fraction, number(kMantissa + 1))),
            b.CreateSelect(is_denormal, number(1), exponent)};
  };
  const Split p = split(x), q = split(y);
  Value* gap = b.CreateSub(p.exponent, q.exponent);
  Value* is_below = b.CreateICmpSLT(gap, number(0));
  // Where y is zero, infinite or NaN, or x is, this is not what is taken.
  Value* divisor = Call(b, llvm::Intrinsic::umax, {q.mantissa, number(1)});
  Value* first = b.CreateURem(p.mantissa, divisor);
  Value* turns = b.CreateSelect(is_below, number(0), gap);
  const auto values = While(
      b, {first, turns},
      [&](const std::vector<Value*>& v) { return b.CreateICmpSGT(v[1], number(0)); },
      [&](const std::vector<Value*>& v) -> std::vector<Value*> {
        Value* bits = Call(b, llvm::Intrinsic::umin, {v[1], number(11)});
        return {b.CreateURem(b.CreateShl(v[0], bits), divisor), b.CreateSub(v[1], bits)};
      });
  // mantissa · 2^(exponent - 1075): a number of its own, exactly.
  Value* rest = values[0];
  Value* zeros =
      Call(b, llvm::Intrinsic::umin,
           {b.CreateSub(b.CreateIntrinsic(llvm::Intrinsic::ctlz, {word}, {rest, b.getFalse()}),
                        number(11)),
            b.CreateSub(q.exponent, number(1))});
  Value* is_zero = b.CreateICmpEQ(rest, number(0));
  zeros = b.CreateSelect(is_zero, number(0), zeros);
  Value* shifted = b.CreateShl(rest, zeros);
  Value* is_normal = b.CreateICmpUGT(shifted, number(kMantissa));
  Value* exponent = b.CreateSelect(is_normal, b.CreateSub(q.exponent, zeros), number(0));
  Value* bits = b.CreateOr(b.CreateAnd(shifted, number(kMantissa)), b.CreateShl(exponent, 52));
  Value* made = b.CreateBitCast(bits, b.getDoubleTy());
  Value* magnitude = b.CreateSelect(is_below, Call(b, llvm::Intrinsic::fabs, {x}), made);
  Value* result = Call(b, llvm::Intrinsic::copysign, {magnitude, x});
  llvm::Constant* infinity = llvm::ConstantFP::getInfinity(b.getDoubleTy());
  llvm::Constant* zero = llvm::ConstantFP::get(b.getDoubleTy(), 0.0);
  Value* x_size = Call(b, llvm::Intrinsic::fabs, {x});
  Value* y_size = Call(b, llvm::Intrinsic::fabs, {y});
  result = b.CreateSelect(b.CreateFCmpOEQ(y_size, infinity), x, result);
  Value* has_none = b.CreateOr(b.CreateFCmpUNO(x, y), b.CreateOr(b.CreateFCmpOEQ(x_size, infinity),
                                                                 b.CreateFCmpOEQ(y, zero)));
  return b.CreateSelect(has_none, llvm::ConstantFP::getNaN(b.getDoubleTy()), result);
}

Value* IntegerPower(Builder& b, Value* x, Value* y, bool is_signed) {
  if (x->getType()->getScalarSizeInBits() == 1) {  // there is no room for a shift
    llvm::Type* wide = LanesLike(x, b.getInt8Ty());
    return b.CreateTrunc(IntegerPower(b, b.CreateIntCast(x, wide, is_signed),
                                      b.CreateIntCast(y, wide, is_signed), is_signed),
                         x->getType());
  }
  Value* zero = llvm::Constant::getNullValue(x->getType());
  Value* one = IntegerLike(x, 1);
  Value* minus_one = IntegerLike(x, -1);
  Value* is_odd = b.CreateTrunc(y, LanesLike(y, b.getInt1Ty()));
  Value* exponent = y;
  Value* is_negative = nullptr;
  if (is_signed) {
    is_negative = b.CreateICmpSLT(y, zero);
    exponent = b.CreateSelect(is_negative, zero, y);
  }
  const auto values = While(
      b, {one, x, exponent},
      [&](const std::vector<Value*>& v) { return AnyLane(b, b.CreateICmpNE(v[2], zero)); },
      [&](const std::vector<Value*>& v) -> std::vector<Value*> {
        Value* takes = b.CreateTrunc(v[2], LanesLike(y, b.getInt1Ty()));
        return {b.CreateSelect(takes, b.CreateMul(v[0], v[1]), v[0]), b.CreateMul(v[1], v[1]),
                b.CreateLShr(v[2], one)};
      });
  if (!is_signed) return values[0];
  Value* of_minus_one = b.CreateSelect(is_odd, minus_one, one);
  Value* inverse = b.CreateSelect(b.CreateICmpEQ(x, one), one,
                                  b.CreateSelect(b.CreateICmpEQ(x, minus_one), of_minus_one, zero));
  return b.CreateSelect(is_negative, inverse, values[0]);
}

}  // namespace hloscope::codegen
