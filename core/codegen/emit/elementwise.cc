// Elementwise instructions. Integers wrap; division by zero gives all ones, remainder the dividend;
// shifts by the width or more give zeros or signs.
#include "core/codegen/emit/elementwise.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <cmath>

#include "core/codegen/emit/complex_elementwise.h"
#include "core/codegen/math/control_flow.h"
#include "core/codegen/math/functions.h"
#include "core/codegen/math/inline_functions.h"
#include "core/codegen/math/small_floats.h"
#include "core/codegen/math/symbols.h"
#include "core/hlo/comparison.h"
#include "core/hlo/float_types.h"

namespace hloscope::codegen {
namespace {

using hlo::AttributeKey;
using hlo::ComparisonDirection;
using hlo::ElementType;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

struct Operands {
  std::span<Value* const> values;
  ElementType type;  // of the operand the opcode goes by

  Value* operator[](size_t i) const { return values[i]; }
};

Value* AllOnes(Value* like) { return llvm::Constant::getAllOnesValue(like->getType()); }
Value* Zero(Value* like) { return llvm::Constant::getNullValue(like->getType()); }
int BitsIn(Value* x) { return static_cast<int>(x->getType()->getScalarSizeInBits()); }

// x / y or x % y, rounded towards zero; y is not 0 and nothing overflows. CPUs have no division of
// vectors of integers, but of floats: a quotient of numbers of 24 bits rounded to f32 is never
// rounded up to an integer, nor one of 53 bits in f64.
Value* Quotient(Builder& b, Opcode opcode, Value* x, Value* y, bool is_signed) {
  const bool is_divide = opcode == Opcode::kDivide;
  const int bits = BitsIn(x);
  if (WritesForGpu(b) || bits > 32 || !x->getType()->isVectorTy()) {
    if (is_divide) return is_signed ? b.CreateSDiv(x, y) : b.CreateUDiv(x, y);
    return is_signed ? b.CreateSRem(x, y) : b.CreateURem(x, y);
  }
  llvm::Type* floats = LanesLike(x, bits > 16 ? b.getDoubleTy() : b.getFloatTy());
  const auto number = [&](Value* n) {
    return is_signed ? b.CreateSIToFP(n, floats) : b.CreateUIToFP(n, floats);
  };
  // Wide enough for what the hardware converts to.
  llvm::Type* wide = LanesLike(x, b.getInt32Ty());
  Value* ratio = b.CreateFDiv(number(x), number(y));
  Value* quotient = is_signed ? b.CreateFPToSI(ratio, wide) : b.CreateFPToUI(ratio, wide);
  quotient = b.CreateTrunc(quotient, x->getType());
  return is_divide ? quotient : b.CreateSub(x, b.CreateMul(quotient, y));
}

// x / y and x % y of integers, as HLO has them. The hardware traps where y is 0 or overflows.
Value* IntegerQuotient(Builder& b, Opcode opcode, Value* x, Value* y, bool is_signed) {
  const bool is_divide = opcode == Opcode::kDivide;
  Value* one = IntegerLike(y, 1);
  Value* is_zero = b.CreateICmpEQ(y, Zero(y));
  Value* safe = b.CreateSelect(is_zero, one, y);
  if (!is_signed) {
    Value* result = Quotient(b, opcode, x, safe, is_signed);
    return b.CreateSelect(is_zero, is_divide ? AllOnes(x) : x, result);
  }
  Value* is_minus_one = b.CreateICmpEQ(y, AllOnes(y));
  safe = b.CreateSelect(is_minus_one, one, safe);
  Value* result = Quotient(b, opcode, x, safe, is_signed);
  result = b.CreateSelect(is_minus_one, is_divide ? b.CreateNeg(x) : Zero(x), result);
  return b.CreateSelect(is_zero, is_divide ? AllOnes(x) : x, result);
}

Value* Shifted(Builder& b, Opcode opcode, Value* x, Value* amount) {
  const int bits = BitsIn(x);
  Value* fits = b.CreateICmpULT(amount, IntegerLike(amount, bits));
  Value* safe = b.CreateSelect(fits, amount, IntegerLike(amount, bits - 1));
  if (opcode == Opcode::kShiftRightArithmetic) return b.CreateAShr(x, safe);
  Value* moved = opcode == Opcode::kShiftLeft ? b.CreateShl(x, safe) : b.CreateLShr(x, safe);
  return b.CreateSelect(fits, moved, Zero(x));
}

Value* UpperHalf(Builder& b, Value* x, Value* y, bool is_signed) {
  const int bits = BitsIn(x);
  llvm::Type* wide = LanesLike(x, b.getIntNTy(static_cast<unsigned>(2 * bits)));
  Value* product =
      b.CreateMul(b.CreateIntCast(x, wide, is_signed), b.CreateIntCast(y, wide, is_signed));
  return b.CreateTrunc(b.CreateLShr(product, IntegerLike(product, bits)), x->getType());
}

Value* IntegerOrPred(Builder& b, Opcode opcode, const Operands& in) {
  Value* x = in[0];
  Value* y = in.values.size() > 1 ? in[1] : nullptr;
  const bool is_signed = hlo::IsSigned(in.type), is_pred = in.type == ElementType::kPred;
  switch (opcode) {
    case Opcode::kAbs:
      return is_signed ? b.CreateSelect(b.CreateICmpSLT(x, Zero(x)), b.CreateNeg(x), x) : x;
    case Opcode::kAdd:
      return is_pred ? b.CreateOr(x, y) : b.CreateAdd(x, y);
    case Opcode::kAnd:
      return b.CreateAnd(x, y);
    case Opcode::kCeil:
    case Opcode::kFloor:
    case Opcode::kRoundNearestAfz:
    case Opcode::kRoundNearestEven:
      return x;
    case Opcode::kClz:
      return b.CreateIntrinsic(Intrinsic::ctlz, {x->getType()}, {x, b.getFalse()});
    case Opcode::kDivide:
    case Opcode::kRemainder:
      return IntegerQuotient(b, opcode, x, y, is_signed);
    case Opcode::kMaximum:
    case Opcode::kMinimum:
      return Extreme(b, opcode, x, y, in.type);
    case Opcode::kMulhi:
      return UpperHalf(b, x, y, is_signed);
    case Opcode::kMultiply:
      return is_pred ? b.CreateAnd(x, y) : b.CreateMul(x, y);
    case Opcode::kNegate:
      return b.CreateNeg(x);
    case Opcode::kNot:
      return b.CreateNot(x);
    case Opcode::kOr:
      return b.CreateOr(x, y);
    case Opcode::kPopulationCount:
      return Call(b, Intrinsic::ctpop, {x});
    case Opcode::kPower:
      return IntegerPower(b, x, y, is_signed);
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightArithmetic:
    case Opcode::kShiftRightLogical:
      return Shifted(b, opcode, x, y);
    case Opcode::kSign: {
      Value* above = b.CreateZExt(
          is_signed ? b.CreateICmpSGT(x, Zero(x)) : b.CreateICmpNE(x, Zero(x)), x->getType());
      return is_signed ? b.CreateOr(above, b.CreateAShr(x, IntegerLike(x, BitsIn(x) - 1))) : above;
    }
    case Opcode::kSubtract:
      return b.CreateSub(x, y);
    case Opcode::kXor:
      return b.CreateXor(x, y);
    default:
      return nullptr;
  }
}

bool ActsOnBits(Opcode opcode) { return opcode == Opcode::kAbs || opcode == Opcode::kNegate; }

Value* OnBits(Builder& b, Opcode opcode, Value* x) {
  Value* bits = BitsOf(b, x);
  Value* sign = IntegerLike(bits, static_cast<int64_t>(uint64_t{1} << (BitsIn(x) - 1)));
  Value* changed =
      opcode == Opcode::kAbs ? b.CreateAnd(bits, b.CreateNot(sign)) : b.CreateXor(bits, sign);
  return b.CreateBitCast(changed, x->getType());
}

// Of f32 or f64.
Value* Floating(Builder& b, Opcode opcode, std::span<Value* const> in) {
  Value* x = in[0];
  if (ActsOnBits(opcode)) return OnBits(b, opcode, x);
  if (opcode == Opcode::kAdd) return b.CreateFAdd(x, in[1]);
  if (opcode == Opcode::kDivide) return b.CreateFDiv(x, in[1]);
  if (opcode == Opcode::kMultiply) return b.CreateFMul(x, in[1]);
  if (opcode == Opcode::kSubtract) return b.CreateFSub(x, in[1]);
  if (opcode != Opcode::kSign) return Function(b, opcode, in);
  Value* sign = Call(b, Intrinsic::copysign, {NumberLike(x, 1), x});
  return b.CreateSelect(b.CreateFCmpUEQ(x, Zero(x)), x, sign);
}

Value* Float(Builder& b, Opcode opcode, const Operands& in) {
  if (opcode == Opcode::kReal) return in[0];
  // Not all types of a byte have a sign for each number.
  if (ActsOnBits(opcode) && hlo::BitWidth(in.type) >= 16) return OnBits(b, opcode, in[0]);
  if (opcode == Opcode::kMaximum || opcode == Opcode::kMinimum) {
    return Extreme(b, opcode, in[0], in[1], in.type);
  }
  std::vector<Value*> wide;
  for (Value* value : in.values) wide.push_back(Widened(b, value, in.type));
  if (opcode == Opcode::kImag) return Rounded(b, Zero(wide[0]), in.type);
  if (opcode == Opcode::kIsFinite) {
    return b.CreateFCmpOLT(Call(b, Intrinsic::fabs, {wide[0]}),
                           llvm::ConstantFP::getInfinity(wide[0]->getType()));
  }
  Value* result = WritesForGpu(b) && hlo::BitWidth(in.type) == 16
                      ? RoundedFunction(b, opcode, wide[0])
                      : nullptr;
  if (result == nullptr) result = Floating(b, opcode, wide);
  return result == nullptr ? nullptr : Rounded(b, result, in.type);
}

llvm::CmpInst::Predicate IntegerPredicate(ComparisonDirection direction, bool is_signed) {
  using P = llvm::CmpInst::Predicate;
  switch (direction) {
    case ComparisonDirection::kEq:
      return P::ICMP_EQ;
    case ComparisonDirection::kNe:
      return P::ICMP_NE;
    case ComparisonDirection::kGe:
      return is_signed ? P::ICMP_SGE : P::ICMP_UGE;
    case ComparisonDirection::kGt:
      return is_signed ? P::ICMP_SGT : P::ICMP_UGT;
    case ComparisonDirection::kLe:
      return is_signed ? P::ICMP_SLE : P::ICMP_ULE;
    case ComparisonDirection::kLt:
      return is_signed ? P::ICMP_SLT : P::ICMP_ULT;
  }
  return P::ICMP_EQ;
}

llvm::CmpInst::Predicate FloatPredicate(ComparisonDirection direction) {
  using P = llvm::CmpInst::Predicate;
  constexpr P kBy[] = {P::FCMP_OEQ, P::FCMP_UNE, P::FCMP_OGE,
                       P::FCMP_OGT, P::FCMP_OLE, P::FCMP_OLT};
  return kBy[static_cast<size_t>(direction)];
}

Value* Compared(Builder& b, const Module& module, const Instruction& i, const Operands& in) {
  const auto direction =
      static_cast<ComparisonDirection>(module.GetInt(i, AttributeKey::kDirection));
  if (hlo::IsComplex(in.type)) {
    Value* is_equal = ComplexEqual(b, in[0], in[1], in.type);
    return direction == ComparisonDirection::kEq ? is_equal : b.CreateNot(is_equal);
  }
  if (!hlo::IsFloat(in.type)) {
    return b.CreateICmp(IntegerPredicate(direction, hlo::IsSigned(in.type)), in[0], in[1]);
  }
  if (hlo::IsTotalOrder(module, i) && hlo::BitWidth(in.type) < 16) {
    return b.CreateICmp(IntegerPredicate(direction, true), SmallTotalOrderKey(b, in[0], in.type),
                        SmallTotalOrderKey(b, in[1], in.type));
  }
  if (hlo::IsTotalOrder(module, i)) {
    return b.CreateICmp(IntegerPredicate(direction, true), TotalOrderKey(b, in[0]),
                        TotalOrderKey(b, in[1]));
  }
  return b.CreateFCmp(FloatPredicate(direction), Widened(b, in[0], in.type),
                      Widened(b, in[1], in.type));
}

// min(max(low, x), high); NaN if any of the three is, that of x first.
Value* Clamped(Builder& b, const Operands& in) {
  Value *low = in[0], *x = in[1], *high = in[2];
  if (hlo::IsComplex(in.type)) return ComplexClamped(b, low, x, high, in.type);
  if (!hlo::IsFloat(in.type)) {
    Value* raised = Extreme(b, Opcode::kMaximum, x, low, in.type);
    return Extreme(b, Opcode::kMinimum, raised, high, in.type);
  }
  low = Widened(b, low, in.type), x = Widened(b, x, in.type), high = Widened(b, high, in.type);
  Value* result = b.CreateSelect(b.CreateFCmpOLT(x, low), low, x);
  result = b.CreateSelect(b.CreateFCmpOGT(result, high), high, result);
  result = b.CreateSelect(IsNan(b, high), high, result);
  result = b.CreateSelect(IsNan(b, low), low, result);
  return Rounded(b, b.CreateSelect(IsNan(b, x), x, result), in.type);
}

struct FloatBits {
  int exponent, mantissa;
};
FloatBits BitsOfType(ElementType type) {
  if (const hlo::FloatFormat* format = hlo::FindFloatFormat(type)) {
    return {format->exponent_bits, format->mantissa_bits};
  }
  return type == ElementType::kF64 ? FloatBits{11, 52} : FloatBits{8, 23};
}

// Rounds the mantissa (nearest even), then the exponent's range: too large is infinity, too small
// is zero of the same sign. NaN stays NaN (XLA: HloEvaluator::HandleReducePrecision).
Value* ReducedPrecision(Builder& b, const Module& module, const Instruction& i, Value* x,
                        ElementType type) {
  auto exponent = module.GetInt(i, AttributeKey::kExponentBits);
  if (hlo::BitWidth(type) < 16) {  // in f64, whose range is not cut where the type's is not
    if (exponent >= BitsOfType(type).exponent) exponent = BitsOfType(ElementType::kF64).exponent;
    type = ElementType::kF64;
  }
  const auto [exponent_bits, mantissa_bits] = BitsOfType(type);
  const auto mantissa = std::max<int64_t>(0, module.GetInt(i, AttributeKey::kMantissaBits));
  Value* input = BitsOf(b, x);
  Value* bits = input;
  const auto constant = [&](uint64_t value) {
    return IntegerLike(input, static_cast<int64_t>(value));
  };
  const uint64_t sign = uint64_t{1} << (exponent_bits + mantissa_bits);
  const uint64_t infinity = ((uint64_t{1} << exponent_bits) - 1) << mantissa_bits;
  if (mantissa < mantissa_bits) {
    const auto dropped = static_cast<uint64_t>(mantissa_bits - mantissa);
    Value* last = b.CreateAnd(b.CreateLShr(bits, constant(dropped)), constant(1));
    Value* half = b.CreateAdd(last, constant((uint64_t{1} << (dropped - 1)) - 1));
    bits = b.CreateAnd(b.CreateAdd(bits, half), constant(~((uint64_t{1} << dropped) - 1)));
  }
  if (exponent < exponent_bits) {
    const uint64_t bias = (uint64_t{1} << (exponent_bits - 1)) - 1;
    const uint64_t reduced = exponent < 1 ? 0 : (uint64_t{1} << (exponent - 1)) - 1;
    Value* signs = b.CreateAnd(bits, constant(sign));
    Value* exponents = b.CreateAnd(bits, constant(infinity));
    Value* too_large = b.CreateICmpUGT(exponents, constant((bias + reduced) << mantissa_bits));
    Value* too_small = b.CreateICmpULE(exponents, constant((bias - reduced) << mantissa_bits));
    bits = b.CreateSelect(too_small, signs, bits);
    bits = b.CreateSelect(too_large, b.CreateOr(signs, constant(infinity)), bits);
  }
  Value* is_nan = b.CreateICmpUGT(b.CreateAnd(input, constant(sign - 1)), constant(infinity));
  return b.CreateBitCast(b.CreateSelect(is_nan, input, bits), x->getType());
}

// |x| is rounded up where the random number, as a fraction of its whole range, lies below x's
// fraction.
Value* StochasticallyConverted(Builder& b, Value* x, ElementType from, Value* random,
                               ElementType type, ElementType to) {
  x = Converted(b, x, from, ElementType::kF64);
  random = Converted(b, random, type, ElementType::kF64);
  Value* size = Call(b, Intrinsic::fabs, {x});
  Value* whole = Call(b, Intrinsic::floor, {size});
  Value* range = NumberLike(x, std::ldexp(1.0, hlo::BitWidth(type)));
  Value* limit = Call(b, Intrinsic::floor, {b.CreateFMul(b.CreateFSub(size, whole), range)});
  Value* up = b.CreateFAdd(whole, NumberLike(x, 1));
  whole = b.CreateSelect(b.CreateFCmpOLT(random, limit), up, whole);
  return Converted(b, Call(b, Intrinsic::copysign, {whole, x}), ElementType::kF64, to);
}

// As many lanes in all as in the widest of them.
std::vector<Value*> InEqualLanes(Builder& b, std::span<Value* const> operands) {
  unsigned lanes = 1;
  for (Value* operand : operands) {
    if (auto* type = llvm::dyn_cast<llvm::FixedVectorType>(operand->getType())) {
      lanes = type->getNumElements();
    }
  }
  std::vector<Value*> out(operands.begin(), operands.end());
  for (Value*& each : out) {
    if (lanes > 1 && !each->getType()->isVectorTy()) each = b.CreateVectorSplat(lanes, each);
  }
  return out;
}

}  // namespace

Value* Extreme(Builder& b, Opcode opcode, Value* x, Value* y, ElementType type) {
  const bool is_maximum = opcode == Opcode::kMaximum;
  if (type == ElementType::kPred) return is_maximum ? b.CreateOr(x, y) : b.CreateAnd(x, y);
  if (hlo::IsFloat(type)) {
    const auto id = is_maximum ? Intrinsic::maximum : Intrinsic::minimum;
    return Rounded(b, Call(b, id, {Widened(b, x, type), Widened(b, y, type)}), type);
  }
  const bool is_signed = hlo::IsSigned(type);
  const auto id = is_maximum ? (is_signed ? Intrinsic::smax : Intrinsic::umax)
                             : (is_signed ? Intrinsic::smin : Intrinsic::umin);
  return Call(b, id, {x, y});
}

Value* Elementwise(Builder& b, const Module& module, InstructionId id,
                   std::span<Value* const> operands) {
  const Instruction& i = module[id];
  const ElementType result = module.shape(id).element_type();
  const std::vector<Value*> values = InEqualLanes(b, operands);
  const size_t goes_by = i.opcode == Opcode::kSelect ? 1 : 0;
  const ElementType type = module.shape(module.operands(id)[goes_by]).element_type();
  const Operands in{values, type};
  switch (i.opcode) {
    case Opcode::kCopy:
      return in[0];
    case Opcode::kConvert:
      return Converted(b, in[0], type, result);
    case Opcode::kBitcastConvert: {
      Value* bits = ToMemory(b, in[0], type);
      if (result == ElementType::kPred) return FromMemory(b, BitsOf(b, bits), result);
      bits = b.CreateBitCast(bits, LanesLike(bits, MemoryType(b, result)));
      if (!hlo::IsFloat(result)) return FromMemory(b, bits, result);
      // Of a float that is less than a byte the other bits are zeros.
      const int width = hlo::BitWidth(result);
      return width < 8 ? b.CreateAnd(bits, IntegerLike(bits, (1 << width) - 1)) : bits;
    }
    case Opcode::kSelect:
      return b.CreateSelect(in[0], in[1], in[2]);
    case Opcode::kClamp:
      return Clamped(b, in);
    case Opcode::kCompare:
      return Compared(b, module, i, in);
    case Opcode::kReducePrecision: {
      const bool is_small = hlo::BitWidth(type) < 16;
      Value* x = is_small ? Converted(b, in[0], type, ElementType::kF64) : in[0];
      x = ReducedPrecision(b, module, i, x, type);
      return is_small ? Converted(b, x, ElementType::kF64, type) : x;
    }
    case Opcode::kStochasticConvert: {
      const ElementType random = module.shape(module.operands(id)[1]).element_type();
      return StochasticallyConverted(b, in[0], type, in[1], random, result);
    }
    case Opcode::kComplex:
      return FromParts(b, {in[0], in[1]}, result);
    case Opcode::kMap: {
      const auto results =
          Applied(b, module, module.GetComputation(i, AttributeKey::kToApply), in.values);
      return results.size() == 1 ? results[0] : nullptr;
    }
    default:
      if (hlo::IsComplex(type)) return ComplexElementwise(b, i.opcode, values, type);
      return hlo::IsFloat(type) ? Float(b, i.opcode, in) : IntegerOrPred(b, i.opcode, in);
  }
}

Value* TotalOrderKey(Builder& b, Value* x) {
  Value* bits = BitsOf(b, x);
  const int width = BitsIn(bits);
  Value* sign = b.CreateAShr(bits, IntegerLike(bits, width - 1));
  return b.CreateXor(bits, b.CreateLShr(sign, IntegerLike(bits, 1)));
}

}  // namespace hloscope::codegen
