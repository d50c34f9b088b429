#include "core/codegen/math/numbers.h"

#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>

#include <cmath>

#include "core/codegen/math/inline_functions.h"
#include "core/codegen/math/small_floats.h"

namespace hloscope::codegen {

using hlo::ElementType;
using llvm::Constant;
using llvm::Type;
using llvm::Value;

Type* RegisterType(Builder& b, ElementType type) {
  switch (type) {
    case ElementType::kPred:
      return b.getInt1Ty();
    case ElementType::kF32:
      return b.getFloatTy();
    case ElementType::kF64:
      return b.getDoubleTy();
    default: {
      const int bits = hlo::IsFloat(type) ? 8 * hlo::StorageBytes(type) : hlo::BitWidth(type);
      return b.getIntNTy(static_cast<unsigned>(bits));
    }
  }
}

Type* MemoryType(Builder& b, ElementType type) {
  return hlo::BitWidth(type) < 8 || type == ElementType::kPred ? b.getInt8Ty()
                                                               : RegisterType(b, type);
}

Type* LanesLike(Value* like, Type* type) {
  const auto* lanes = llvm::dyn_cast<llvm::FixedVectorType>(like->getType());
  return lanes == nullptr ? type : llvm::FixedVectorType::get(type, lanes->getNumElements());
}

Constant* NumberLike(Value* like, double value) {
  return llvm::ConstantFP::get(like->getType(), value);
}

Constant* IntegerLike(Value* like, int64_t value) {
  return llvm::ConstantInt::getSigned(like->getType(), value);
}

Value* Call(Builder& b, llvm::Intrinsic::ID id, std::initializer_list<Value*> operands) {
  return b.CreateIntrinsic(id, {(*operands.begin())->getType()}, llvm::ArrayRef<Value*>(operands));
}

Value* BitsOf(Builder& b, Value* x) {
  if (x->getType()->isIntOrIntVectorTy()) return x;
  return b.CreateBitCast(x, LanesLike(x, b.getIntNTy(x->getType()->getScalarSizeInBits())));
}

Value* IsNan(Builder& b, Value* x) { return b.CreateFCmpUNO(x, x); }

Value* Widened(Builder& b, Value* x, ElementType type) {
  Type* single = LanesLike(x, b.getFloatTy());
  if (type == ElementType::kF16) {
    Value* wide = b.CreateFPExt(b.CreateBitCast(x, LanesLike(x, b.getHalfTy())), single);
    // LLVM 19 would take comparisons, maxima and roundings back to f16, which processors without
    // f16 do number by number, and where the larger of NaN and 0 is 0.
    return WritesForGpu(b) ? wide : Call(b, llvm::Intrinsic::arithmetic_fence, {wide});
  }
  // What a GPU has just rounded; loads of bf16 would not become one of several.
  if (const auto* bits = llvm::dyn_cast<llvm::BitCastInst>(x);
      bits != nullptr && bits->getSrcTy()->isBFloatTy()) {
    return b.CreateFPExt(bits->getOperand(0), single);
  }
  if (type == ElementType::kBF16) {
    Value* wide = b.CreateZExt(x, LanesLike(x, b.getInt32Ty()));
    return b.CreateBitCast(b.CreateShl(wide, IntegerLike(wide, 16)), single);
  }
  return IsNarrowFloat(type) ? DecodedFloat(b, x, type) : x;
}

Value* Rounded(Builder& b, Value* x, ElementType type) {
  if (type == ElementType::kF16) {
    Value* half = b.CreateFPTrunc(x, LanesLike(x, b.getHalfTy()));
    return b.CreateBitCast(half, LanesLike(x, b.getInt16Ty()));
  }
  if (type == ElementType::kBF16 && WritesForGpu(b) && !x->getType()->isVectorTy()) {
    return b.CreateBitCast(DeviceInstruction(b, llvm::Intrinsic::nvvm_f2bf16_rn, x),
                           b.getInt16Ty());
  }
  if (type == ElementType::kBF16) {
    Value* bits = BitsOf(b, x);
    Value* last = b.CreateAnd(b.CreateLShr(bits, IntegerLike(bits, 16)), IntegerLike(bits, 1));
    Value* up = b.CreateAdd(b.CreateAdd(bits, IntegerLike(bits, 0x7fff)), last);
    Value* quiet = b.CreateOr(bits, IntegerLike(bits, 0x400000));
    Value* rounded = b.CreateSelect(IsNan(b, x), quiet, up);
    return b.CreateTrunc(b.CreateLShr(rounded, IntegerLike(bits, 16)),
                         LanesLike(x, b.getInt16Ty()));
  }
  return IsNarrowFloat(type) ? EncodedFloat(b, x, type) : x;
}

Value* FromMemory(Builder& b, Value* x, ElementType type) {
  if (type == ElementType::kPred) return b.CreateICmpNE(x, IntegerLike(x, 0));
  return b.CreateTrunc(x, LanesLike(x, RegisterType(b, type)));
}

Value* ToMemory(Builder& b, Value* x, ElementType type) {
  Type* in_memory = LanesLike(x, MemoryType(b, type));
  return x->getType() == in_memory ? x : b.CreateIntCast(x, in_memory, hlo::IsSigned(type));
}

namespace {

// The parts that FromParts has made a number of; null where it did not.
Parts PartsGiven(Builder& b, Value* x) {
  using namespace llvm::PatternMatch;
  if (Value* one = x->getType()->isVectorTy() ? llvm::getSplatValue(x) : nullptr) {
    Parts parts = PartsGiven(b, one);
    if (parts.real == nullptr) return parts;
    const auto width = llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements();
    return {b.CreateVectorSplat(width, parts.real), b.CreateVectorSplat(width, parts.imag)};
  }
  const auto* cast = llvm::dyn_cast<llvm::BitCastInst>(x);
  if (cast == nullptr) return {};
  Value *real = nullptr, *imag = nullptr;
  if (match(cast->getOperand(0), m_InsertElt(m_InsertElt(m_Poison(), m_Value(real), m_ZeroInt()),
                                             m_Value(imag), m_One()))) {
    return {real, imag};
  }
  auto* both = llvm::dyn_cast<llvm::ShuffleVectorInst>(cast->getOperand(0));
  if (both == nullptr || !both->isInterleave(2)) return {};
  return {both->getOperand(0), both->getOperand(1)};
}

}  // namespace

Parts PartsOf(Builder& b, Value* x, ElementType type) {
  if (const Parts given = PartsGiven(b, x); given.real != nullptr) return given;
  Type* part = RegisterType(b, hlo::RealPart(type));
  const auto* lanes = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  const unsigned count = lanes == nullptr ? 1 : lanes->getNumElements();
  Value* both = b.CreateBitCast(x, llvm::FixedVectorType::get(part, 2 * count));
  if (auto* known = llvm::dyn_cast<Constant>(both)) {
    const auto& layout = b.GetInsertBlock()->getModule()->getDataLayout();
    both = llvm::ConstantFoldConstant(known, layout);
  }
  if (lanes == nullptr) {
    return {b.CreateExtractElement(both, uint64_t{0}), b.CreateExtractElement(both, uint64_t{1})};
  }
  std::vector<int> even, odd;
  for (int i = 0; std::cmp_less(i, count); ++i) {
    even.push_back(2 * i);
    odd.push_back(2 * i + 1);
  }
  return {b.CreateShuffleVector(both, even), b.CreateShuffleVector(both, odd)};
}

Value* FromParts(Builder& b, Parts parts, ElementType type) {
  const auto* lanes = llvm::dyn_cast<llvm::FixedVectorType>(parts.real->getType());
  Type* whole = LanesLike(parts.real, RegisterType(b, type));
  if (lanes == nullptr) {
    Type* pair = llvm::FixedVectorType::get(parts.real->getType(), 2);
    Value* both = b.CreateInsertElement(llvm::PoisonValue::get(pair), parts.real, uint64_t{0});
    return b.CreateBitCast(b.CreateInsertElement(both, parts.imag, uint64_t{1}), whole);
  }
  std::vector<int> order;
  for (int i = 0; std::cmp_less(i, lanes->getNumElements()); ++i) {
    order.push_back(i);
    order.push_back(i + static_cast<int>(lanes->getNumElements()));
  }
  return b.CreateBitCast(b.CreateShuffleVector(parts.real, parts.imag, order), whole);
}

namespace {

// A double as a float whose further rounding is right: what is lost leaves its trace in the last
// bit (round to odd).
Value* OddFloat(Builder& b, Value* x) {
  Value* nearest = b.CreateFPTrunc(x, LanesLike(x, b.getFloatTy()));
  Value* back = b.CreateFPExt(nearest, x->getType());
  Value* bits = BitsOf(b, nearest);
  Value* too_large =
      b.CreateFCmpOGT(Call(b, llvm::Intrinsic::fabs, {back}), Call(b, llvm::Intrinsic::fabs, {x}));
  Value* cut = b.CreateSub(bits, b.CreateZExt(too_large, bits->getType()));
  Value* odd = b.CreateBitCast(b.CreateOr(cut, IntegerLike(cut, 1)), nearest->getType());
  Value* is_infinite = b.CreateFCmpOEQ(Call(b, llvm::Intrinsic::fabs, {back}),
                                       llvm::ConstantFP::getInfinity(x->getType()));
  Value* stays = b.CreateOr(b.CreateFCmpUEQ(back, x), is_infinite);
  return b.CreateSelect(stays, nearest, odd);
}

// A 64-bit integer as a double, rounded to odd.
Value* OddDouble(Builder& b, Value* x, bool is_signed) {
  Value* magnitude = x;
  Value* is_negative = nullptr;
  if (is_signed) {
    is_negative = b.CreateICmpSLT(x, IntegerLike(x, 0));
    magnitude = b.CreateSelect(is_negative, b.CreateNeg(x), x);
  }
  Type* wide = LanesLike(x, b.getDoubleTy());
  Value* is_large = b.CreateICmpUGE(magnitude, IntegerLike(x, int64_t{1} << 53));
  Value* lost = b.CreateAnd(magnitude, IntegerLike(x, 0x7ff));
  Value* sticky = b.CreateZExt(b.CreateICmpNE(lost, IntegerLike(x, 0)), x->getType());
  Value* cut = b.CreateOr(b.CreateLShr(magnitude, IntegerLike(x, 11)), sticky);
  Value* scaled = b.CreateFMul(b.CreateUIToFP(cut, wide), llvm::ConstantFP::get(wide, 2048.0));
  Value* value = b.CreateSelect(is_large, scaled, b.CreateUIToFP(magnitude, wide));
  return is_negative == nullptr ? value : b.CreateSelect(is_negative, b.CreateFNeg(value), value);
}

Value* FromInteger(Builder& b, Value* x, bool is_signed, ElementType to) {
  const unsigned bits = x->getType()->getScalarSizeInBits();
  const bool is_wide = WideType(to) == ElementType::kF64;
  Type* type = LanesLike(x, is_wide ? b.getDoubleTy() : b.getFloatTy());
  // LLVM 19 takes a signed bit for an unsigned one where it writes PTX.
  if (bits == 1) {
    llvm::Constant* one = llvm::ConstantFP::get(type, is_signed ? -1.0 : 1.0);
    return Rounded(b, b.CreateSelect(x, one, llvm::Constant::getNullValue(type)), to);
  }
  const auto convert = [&](Type* into) {
    return is_signed ? b.CreateSIToFP(x, into) : b.CreateUIToFP(x, into);
  };
  if (!IsNarrowFloat(to) || bits <= 16) return Rounded(b, convert(type), to);
  Value* wide = bits == 64 ? OddDouble(b, x, is_signed) : convert(LanesLike(x, b.getDoubleTy()));
  return Rounded(b, is_wide ? wide : OddFloat(b, wide), to);
}

Value* ToInteger(Builder& b, Value* x, ElementType to) {
  Type* type = LanesLike(x, RegisterType(b, to));
  if (hlo::BitWidth(to) == 1) {  // as above
    Value* number = ToInteger(b, x, ElementType::kS32);
    const int64_t least = hlo::IsSigned(to) ? -1 : 0;
    number = Call(b, llvm::Intrinsic::smax, {number, IntegerLike(number, least)});
    number = Call(b, llvm::Intrinsic::smin, {number, IntegerLike(number, least + 1)});
    return b.CreateTrunc(number, type);
  }
  const bool is_signed = hlo::IsSigned(to);
  if (WritesForGpu(b)) {
    const auto id = is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return b.CreateIntrinsic(id, {type, x->getType()}, {x});
  }
  // The same: LLVM 19 does that of vectors number by number.
  const auto bits = static_cast<unsigned>(hlo::BitWidth(to));
  Value* low = NumberLike(x, is_signed ? -std::ldexp(1.0, static_cast<int>(bits) - 1) : 0);
  Value* end = NumberLike(x, std::ldexp(1.0, static_cast<int>(bits) - (is_signed ? 1 : 0)));
  Value* is_low = b.CreateFCmpOLT(x, low);
  Value* is_high = b.CreateFCmpOGE(x, end);
  Value* is_in = b.CreateAnd(b.CreateFCmpOGE(x, low), b.CreateFCmpOLT(x, end));
  Value* inside = b.CreateSelect(is_in, x, NumberLike(x, 0));
  Value* out = is_signed ? b.CreateFPToSI(inside, type) : b.CreateFPToUI(inside, type);
  const auto most =
      is_signed ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
  out = b.CreateSelect(is_high, llvm::ConstantInt::get(type, most), out);
  if (!is_signed) return out;
  return b.CreateSelect(is_low, llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(bits)),
                        out);
}

// Between f32 and f64, as they are or as what narrower floats are computed in.
Value* BetweenFloats(Builder& b, Value* x, ElementType to) {
  const bool is_double = x->getType()->getScalarType()->isDoubleTy();
  if (WideType(to) == ElementType::kF64) {
    return Rounded(b, is_double ? x : b.CreateFPExt(x, LanesLike(x, b.getDoubleTy())), to);
  }
  if (!is_double) return Rounded(b, x, to);
  if (IsNarrowFloat(to)) return Rounded(b, OddFloat(b, x), to);
  return b.CreateFPTrunc(x, LanesLike(x, b.getFloatTy()));
}

Value* FromComplex(Builder& b, Value* x, ElementType from, ElementType to) {
  const ElementType part = hlo::RealPart(from);
  const Parts parts = PartsOf(b, x, from);
  if (to == ElementType::kPred) {
    return b.CreateOr(Converted(b, parts.real, part, to), Converted(b, parts.imag, part, to));
  }
  if (!hlo::IsComplex(to)) return Converted(b, parts.real, part, to);
  const ElementType part_to = hlo::RealPart(to);
  return FromParts(
      b, {Converted(b, parts.real, part, part_to), Converted(b, parts.imag, part, part_to)}, to);
}

}  // namespace

Value* Converted(Builder& b, Value* x, ElementType from, ElementType to) {
  if (from == to) return x;
  if (hlo::IsComplex(from)) return FromComplex(b, x, from, to);
  if (hlo::IsComplex(to)) {
    Value* real = Converted(b, x, from, hlo::RealPart(to));
    return FromParts(b, {real, llvm::Constant::getNullValue(real->getType())}, to);
  }
  if (hlo::IsFloat(from)) {
    x = Widened(b, x, from);
    if (to == ElementType::kPred) return b.CreateFCmpUNE(x, NumberLike(x, 0));
    return hlo::IsFloat(to) ? BetweenFloats(b, x, to) : ToInteger(b, x, to);
  }
  if (to == ElementType::kPred) return b.CreateICmpNE(x, IntegerLike(x, 0));
  const bool is_signed = hlo::IsSigned(from);
  if (from == ElementType::kPred) x = b.CreateZExt(x, LanesLike(x, b.getInt8Ty()));
  if (hlo::IsFloat(to)) return FromInteger(b, x, is_signed, to);
  return b.CreateIntCast(x, LanesLike(x, RegisterType(b, to)), is_signed);
}

}  // namespace hloscope::codegen
