// Sums of products in f32, f64, pairs of f64 or integers.
#include "core/codegen/emit/products.h"

#include <llvm/IR/Intrinsics.h>

#include "core/compile/dot_form.h"

namespace hloscope::codegen {

using hlo::ElementType;
using llvm::Value;

Products::Products(const hlo::Module& module, hlo::InstructionId contraction)
    : left_(module.shape(module.operands(contraction)[0]).element_type()),
      right_(module.shape(module.operands(contraction)[1]).element_type()),
      out_(module.shape(contraction).element_type()),
      sum_(compile::SumTypeOf(module, contraction)) {}

Products::Number Products::Zero(Builder& b, int width) const {
  llvm::Type* type = RegisterType(b, hlo::RealPart(sum_));
  if (width > 1) type = llvm::FixedVectorType::get(type, static_cast<unsigned>(width));
  return Number(parts(), llvm::Constant::getNullValue(type));
}

Products::Number Products::In(Builder& b, Value* x, ElementType type) const {
  const ElementType part = hlo::RealPart(sum_);
  if (!hlo::IsComplex(type)) {
    Number number = {Converted(b, x, type, part)};
    if (parts() == 2) number.push_back(llvm::Constant::getNullValue(number[0]->getType()));
    return number;
  }
  const Parts pair = PartsOf(b, x, type);
  const ElementType from = hlo::RealPart(type);
  return {Converted(b, pair.real, from, part), Converted(b, pair.imag, from, part)};
}

Products::Number Products::Add(Builder& b, const Number& x, const Number& y) const {
  Number out;
  for (size_t i = 0; i < x.size(); ++i) {
    out.push_back(hlo::IsInteger(sum_) ? b.CreateAdd(x[i], y[i]) : b.CreateFAdd(x[i], y[i]));
  }
  return out;
}

Products::Number Products::Add(Builder& b, const Number& sum, Number x, Number y) const {
  if (const auto* lanes = llvm::dyn_cast<llvm::FixedVectorType>(sum[0]->getType())) {
    for (Number* each : {&x, &y}) {
      for (Value*& value : *each) {
        if (!value->getType()->isVectorTy()) {
          value = b.CreateVectorSplat(lanes->getNumElements(), value);
        }
      }
    }
  }
  if (hlo::IsInteger(sum_)) return {b.CreateAdd(sum[0], b.CreateMul(x[0], y[0]))};
  if (parts() == 1) return {Call(b, llvm::Intrinsic::fma, {x[0], y[0], sum[0]})};
  const auto add = [&](Value* factor, Value* other, Value* to) {
    return Call(b, llvm::Intrinsic::fma, {factor, other, to});
  };
  return {add(b.CreateFNeg(x[1]), y[1], add(x[0], y[0], sum[0])),
          add(x[1], y[0], add(x[0], y[1], sum[1]))};
}

Products Products::OfRuns(int64_t length) const {
  constexpr int kMantissa = 24;
  const auto is_short = [](ElementType type) {
    return hlo::IsInteger(type) && hlo::BitWidth(type) <= 8;
  };
  Products runs = *this;
  if (is_short(left_) && is_short(right_) && hlo::BitWidth(sum_) == 32 &&
      length <= int64_t{1} << (kMantissa - 16)) {
    runs.sum_ = ElementType::kF32;
  }
  return runs;
}

Products::Number Products::FromRun(Builder& b, const Products& runs, Number sum) const {
  if (runs.sum_ != sum_) sum[0] = Converted(b, sum[0], runs.sum_, sum_);
  return sum;
}

Value* Products::Result(Builder& b, const Number& sum) const {
  Value* whole = parts() == 2 ? FromParts(b, {sum[0], sum[1]}, sum_) : sum[0];
  return Converted(b, whole, sum_, out_);
}

}  // namespace hloscope::codegen
