// Decoding and encoding of narrow floats without branches.
#include "core/codegen/math/small_floats.h"

#include <llvm/IR/Intrinsics.h>

#include "core/hlo/float_types.h"

namespace hloscope::codegen {

using hlo::ElementType;
using hlo::FloatFormat;
using hlo::FloatSpecials;
using llvm::Value;

namespace {

constexpr int kMantissa = 23;  // bits of f32
constexpr int64_t kInfinity = 0x7f800000, kQuietNan = 0x7fc00000;
constexpr int64_t kMagnitude = 0x7fffffff;

// Powers of two without sign or zero: exponents of f64 with another bias.
Value* DecodedScale(Builder& b, Value* bits) {
  Value* wide = b.CreateZExt(bits, LanesLike(bits, b.getInt64Ty()));
  Value* moved = b.CreateShl(b.CreateAdd(wide, IntegerLike(wide, 1023 - 127)), 52);
  Value* number = b.CreateBitCast(moved, LanesLike(bits, b.getDoubleTy()));
  return b.CreateSelect(b.CreateICmpEQ(bits, IntegerLike(bits, -1)),
                        llvm::ConstantFP::getNaN(number->getType()), number);
}

// Halves go up; what is too small gives the smallest, zero and negative numbers NaN.
Value* EncodedScale(Builder& b, Value* x) {
  Value* bits = BitsOf(b, x);
  const auto constant = [&](int64_t value) { return IntegerLike(bits, value); };
  Value* up = b.CreateAdd(bits, constant(int64_t{1} << 51));
  Value* normal = b.CreateSub(b.CreateLShr(up, 52), constant(1023 - 127));
  Value* exponent = b.CreateSub(b.CreateLShr(bits, 52), constant(1023 - 127));
  Value* mantissa = b.CreateAnd(bits, constant((int64_t{1} << 52) - 1));
  Value* above =
      b.CreateAnd(b.CreateICmpEQ(exponent, constant(0)), b.CreateICmpNE(mantissa, constant(0)));
  Value* small = b.CreateZExt(above, bits->getType());
  Value* code = b.CreateSelect(b.CreateICmpSGE(exponent, constant(1)), normal, small);
  // Also false where x is NaN; a sign makes the exponent too large.
  Value* is_number =
      b.CreateAnd(b.CreateFCmpOGT(x, NumberLike(x, 0)), b.CreateICmpULE(code, constant(254)));
  code = b.CreateSelect(is_number, code, constant(255));
  return b.CreateTrunc(code, LanesLike(x, b.getInt8Ty()));
}

// 2^exponent as the bits of f32.
int64_t PowerBits(int exponent) { return int64_t{127 + exponent} << kMantissa; }

Value* DecodedBy(Builder& b, Value* bits, const FloatFormat& f) {
  Value* wide = b.CreateZExt(bits, LanesLike(bits, b.getInt32Ty()));
  const auto constant = [&](int64_t value) { return IntegerLike(wide, value); };
  llvm::Type* single = LanesLike(bits, b.getFloatTy());
  Value* magnitude = b.CreateAnd(wide, constant(f.magnitude_mask()));
  // The exponent and mantissa in place, the bias put right. Subnormal numbers are integers times a
  // power of two; in place they would be subnormal in f32 as well, which processors are slow with.
  Value* placed = b.CreateShl(magnitude, static_cast<uint64_t>(kMantissa - f.mantissa_bits));
  Value* normal = b.CreateAdd(placed, constant(int64_t{127 - f.bias} << kMantissa));
  Value* scale =
      llvm::ConstantExpr::getBitCast(constant(PowerBits(1 - f.bias - f.mantissa_bits)), single);
  Value* small = BitsOf(b, b.CreateFMul(b.CreateSIToFP(magnitude, single), scale));
  Value* is_small = b.CreateICmpULT(magnitude, constant(int64_t{1} << f.mantissa_bits));
  Value* out = b.CreateSelect(is_small, small, normal);
  if (f.has_infinity()) {
    Value* is_infinite = b.CreateICmpEQ(magnitude, constant(f.infinity()));
    out = b.CreateSelect(is_infinite, constant(kInfinity), out);
  }
  Value* sign =
      b.CreateShl(b.CreateAnd(wide, constant(f.sign_mask())), static_cast<uint64_t>(32 - f.bits));
  if (f.has_nan()) {
    Value* is_nan = nullptr;
    if (f.specials == FloatSpecials::kIeee) {
      is_nan = b.CreateICmpUGT(magnitude, constant(f.infinity()));
    } else if (f.specials == FloatSpecials::kFn) {
      is_nan = b.CreateICmpEQ(magnitude, constant(f.magnitude_mask()));
    } else {
      is_nan = b.CreateICmpEQ(wide, constant(f.sign_mask()));
    }
    out = b.CreateSelect(is_nan, constant(kQuietNan), out);
  }
  return b.CreateBitCast(b.CreateOr(out, sign), single);
}

// Rounded to the format's mantissa; what lies beyond its numbers gives more than max_finite().
Value* RoundedMagnitude(Builder& b, Value* magnitude, const FloatFormat& f) {
  const auto constant = [&](int64_t value) { return IntegerLike(magnitude, value); };
  const int shift = kMantissa - f.mantissa_bits;
  Value* rebased = b.CreateSub(magnitude, constant(int64_t{127 - f.bias} << kMantissa));
  Value* last = b.CreateAnd(b.CreateLShr(rebased, static_cast<uint64_t>(shift)), constant(1));
  Value* up = b.CreateAdd(b.CreateAdd(rebased, constant((int64_t{1} << (shift - 1)) - 1)), last);
  Value* normal = b.CreateLShr(up, static_cast<uint64_t>(shift));
  // A number whose last bit is the smallest of the format lines the mantissa up, and the addition
  // rounds it.
  const int64_t aligned = PowerBits(kMantissa + 1 - f.bias - f.mantissa_bits);
  llvm::Type* single = LanesLike(magnitude, b.getFloatTy());
  Value* base = llvm::ConstantExpr::getBitCast(constant(aligned), single);
  Value* sum = b.CreateFAdd(b.CreateBitCast(magnitude, single), base);
  Value* subnormal = b.CreateSub(BitsOf(b, sum), constant(aligned));
  Value* is_small = b.CreateICmpULT(magnitude, constant(PowerBits(1 - f.bias)));
  return b.CreateSelect(is_small, subnormal, normal);
}

Value* EncodedBy(Builder& b, Value* x, const FloatFormat& f) {
  Value* bits = BitsOf(b, x);
  const auto constant = [&](int64_t value) { return IntegerLike(bits, value); };
  Value* magnitude = b.CreateAnd(bits, constant(kMagnitude));
  Value* sign =
      b.CreateAnd(b.CreateLShr(bits, static_cast<uint64_t>(32 - f.bits)), constant(f.sign_mask()));
  Value* nan = nullptr;
  if (f.specials == FloatSpecials::kFinite) {
    nan = b.CreateXor(sign, constant(f.sign_mask()));
  } else if (f.specials == FloatSpecials::kFnuz) {
    nan = constant(f.nan());
  } else {
    nan = b.CreateOr(sign, constant(f.nan()));
  }
  Value* rounded = RoundedMagnitude(b, magnitude, f);
  Value* number = b.CreateOr(rounded, sign);
  if (f.specials == FloatSpecials::kFnuz) {
    number = b.CreateSelect(b.CreateICmpEQ(rounded, constant(0)), constant(0), number);
  }
  Value* too_large = nan;
  if (f.has_infinity()) too_large = b.CreateOr(sign, constant(f.infinity()));
  if (!f.has_nan()) too_large = b.CreateOr(sign, constant(f.max_finite()));
  Value* is_too_large = b.CreateICmpUGT(rounded, constant(f.max_finite()));
  number = b.CreateSelect(is_too_large, too_large, number);
  number = b.CreateSelect(b.CreateICmpUGT(magnitude, constant(kInfinity)), nan, number);
  return b.CreateTrunc(number, LanesLike(x, b.getInt8Ty()));
}

}  // namespace

Value* DecodedFloat(Builder& b, Value* bits, ElementType type) {
  const FloatFormat& format = *hlo::FindFloatFormat(type);
  return format.specials == FloatSpecials::kScale ? DecodedScale(b, bits)
                                                  : DecodedBy(b, bits, format);
}

Value* EncodedFloat(Builder& b, Value* x, ElementType type) {
  const FloatFormat& format = *hlo::FindFloatFormat(type);
  return format.specials == FloatSpecials::kScale ? EncodedScale(b, x) : EncodedBy(b, x, format);
}

Value* SmallTotalOrderKey(Builder& b, Value* bits, ElementType type) {
  const FloatFormat& f = *hlo::FindFloatFormat(type);
  Value* wide = b.CreateZExt(bits, LanesLike(bits, b.getInt32Ty()));
  if (f.specials == FloatSpecials::kScale) return wide;
  const auto constant = [&](int64_t value) { return IntegerLike(wide, value); };
  Value* magnitude = b.CreateAnd(wide, constant(f.magnitude_mask()));
  Value* below = b.CreateNot(magnitude);  // -1 - magnitude
  if (f.specials == FloatSpecials::kFnuz) {
    Value* is_nan = b.CreateICmpEQ(magnitude, constant(0));
    below = b.CreateSelect(is_nan, constant(-int64_t{f.sign_mask()} - 1), below);
  }
  Value* is_negative = b.CreateICmpNE(b.CreateAnd(wide, constant(f.sign_mask())), constant(0));
  return b.CreateSelect(is_negative, below, magnitude);
}

}  // namespace hloscope::codegen
