// Expression: numbers in registers with the operators of numbers, so that formulas read as such.
#pragma once

#include <llvm/IR/Intrinsics.h>

#include <initializer_list>

#include "core/codegen/math/numbers.h"

namespace hloscope::codegen {

class Expression {
 public:
  Expression(Builder& b, llvm::Value* value) : b_(&b), value_(value) {}

  llvm::Value* value() const { return value_; }
  Builder& builder() const { return *b_; }
  // Constants of the same type and lanes.
  Expression Number(double number) const { return Make(NumberLike(value_, number)); }
  Expression Integer(int64_t number) const { return Make(IntegerLike(value_, number)); }
  Expression Infinity() const { return Make(llvm::ConstantFP::getInfinity(value_->getType())); }
  Expression Nan() const { return Make(llvm::ConstantFP::getNaN(value_->getType())); }

  friend Expression operator+(Expression x, Expression y) {
    return x.Make(x.IsInteger() ? x.b_->CreateAdd(x.value_, y.value_)
                                : x.b_->CreateFAdd(x.value_, y.value_));
  }
  friend Expression operator-(Expression x, Expression y) {
    return x.Make(x.IsInteger() ? x.b_->CreateSub(x.value_, y.value_)
                                : x.b_->CreateFSub(x.value_, y.value_));
  }
  friend Expression operator*(Expression x, Expression y) {
    return x.Make(x.b_->CreateFMul(x.value_, y.value_));
  }
  friend Expression operator/(Expression x, Expression y) {
    return x.Make(x.b_->CreateFDiv(x.value_, y.value_));
  }
  friend Expression operator+(Expression x, double y) { return x + x.Constant(y); }
  friend Expression operator-(Expression x, double y) { return x - x.Constant(y); }
  friend Expression operator*(Expression x, double y) { return x * x.Number(y); }
  friend Expression operator-(Expression x) { return x.Make(x.b_->CreateFNeg(x.value_)); }
  friend Expression operator<<(Expression x, int bits) {
    return x.Make(x.b_->CreateShl(x.value_, IntegerLike(x.value_, bits)));
  }
  // With the sign.
  friend Expression operator>>(Expression x, int bits) {
    return x.Make(x.b_->CreateAShr(x.value_, IntegerLike(x.value_, bits)));
  }
  friend Expression operator&(Expression x, Expression y) {
    return x.Make(x.b_->CreateAnd(x.value_, y.value_));
  }
  friend Expression operator|(Expression x, Expression y) {
    return x.Make(x.b_->CreateOr(x.value_, y.value_));
  }
  // Comparisons are false where a side is NaN.
  friend Expression operator<(Expression x, Expression y) {
    return x.Make(x.b_->CreateFCmpOLT(x.value_, y.value_));
  }
  friend Expression operator<(Expression x, double y) { return x < x.Number(y); }
  friend Expression operator>(Expression x, double y) { return x.Number(y) < x; }
  friend Expression operator==(Expression x, Expression y) {
    return x.Make(x.b_->CreateFCmpOEQ(x.value_, y.value_));
  }
  friend Expression operator==(Expression x, double y) { return x == x.Number(y); }
  Expression operator!() const { return Make(b_->CreateNot(value_)); }
  // Of integers.
  Expression IsZero() const {
    return Make(b_->CreateICmpEQ(value_, llvm::Constant::getNullValue(value_->getType())));
  }

  // this · y + z, rounded once.
  Expression Fma(Expression y, Expression z) const {
    return Make(Call(*b_, llvm::Intrinsic::fma, {value_, y.value_, z.value_}));
  }
  Expression Fma(double y, Expression z) const { return Fma(Number(y), z); }
  Expression Fma(Expression y, double z) const { return Fma(y, Number(z)); }
  Expression Fma(double y, double z) const { return Fma(Number(y), Number(z)); }
  Expression Abs() const { return Make(Call(*b_, llvm::Intrinsic::fabs, {value_})); }
  Expression Floor() const { return Make(Call(*b_, llvm::Intrinsic::floor, {value_})); }
  Expression WithSignOf(Expression y) const {
    return Make(Call(*b_, llvm::Intrinsic::copysign, {value_, y.value_}));
  }
  // Moved into [low, high]; NaN stays.
  Expression Clamped(double low, double high) const {
    const Expression raised = Select(*this < low, Number(low), *this);
    return Select(raised > high, Number(high), raised);
  }
  // Coefficients from the constant up.
  Expression Polynomial(std::initializer_list<double> coefficients) const {
    const auto* c = coefficients.end();
    Expression sum = Number(*--c);
    while (c != coefficients.begin()) sum = sum.Fma(*this, *--c);
    return sum;
  }

  // Choose between numbers by a comparison.
  friend Expression Select(Expression which, Expression yes, Expression no) {
    return yes.Make(yes.b_->CreateSelect(which.value_, yes.value_, no.value_));
  }

  Expression Bits() const { return Make(BitsOf(*b_, value_)); }
  // Integers whose bits are those of numbers of the type of `like`.
  Expression AsNumber(Expression like) const {
    return Make(b_->CreateBitCast(value_, like.value_->getType()));
  }
  Expression ToFloat() const {  // of doubles, rounded
    return Make(b_->CreateFPTrunc(value_, LanesLike(value_, b_->getFloatTy())));
  }
  Expression ToDouble() const {  // of floats
    return Make(b_->CreateFPExt(value_, LanesLike(value_, b_->getDoubleTy())));
  }
  Expression ToNumber(Expression like) const {  // of signed integers
    return Make(b_->CreateSIToFP(value_, like.value_->getType()));
  }
  bool IsDouble() const { return value_->getType()->getScalarType()->isDoubleTy(); }

 private:
  Expression Make(llvm::Value* value) const { return {*b_, value}; }
  bool IsInteger() const { return value_->getType()->isIntOrIntVectorTy(); }
  Expression Constant(double y) const {
    return IsInteger() ? Integer(static_cast<int64_t>(y)) : Number(y);
  }

  Builder* b_;
  llvm::Value* value_;
};

}  // namespace hloscope::codegen
