// Complex numbers by their parts, or lane by lane where that takes an order of operations.
#include "core/codegen/emit/complex_elementwise.h"

#include <optional>
#include <span>
#include <vector>

#include "core/codegen/math/control_flow.h"
#include "core/codegen/math/functions.h"
#include "core/codegen/math/inline_complex.h"
#include "core/codegen/math/inline_functions.h"
#include "core/codegen/math/symbols.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::codegen {

using hlo::ElementType;
using hlo::Opcode;
using llvm::Value;

namespace {

bool IsZero(Value* x) {
  const auto* known = llvm::dyn_cast<llvm::Constant>(x);
  return known != nullptr && known->isNullValue();
}

// a + zero: the product or quotient `a` of x and y, and a product that is a zero with a sign or, of
// an infinity, NaN. Where `a` is a zero because it is so small, its own sign counts.
Value* WithZero(Builder& b, Value* a, Value* zero, Value* x, Value* y) {
  Value* sum = b.CreateFAdd(a, zero);
  Value* none = NumberLike(a, 0);
  Value* is_small = b.CreateAnd(b.CreateFCmpOEQ(sum, none),
                                b.CreateAnd(b.CreateFCmpUNE(x, none), b.CreateFCmpUNE(y, none)));
  return b.CreateSelect(is_small, a, sum);
}

// Parts of a product of numbers one of which is known to be real: each has one product that counts.
std::optional<Parts> ProductByReal(Builder& b, Value* x, Value* y, ElementType type) {
  const Parts p = PartsOf(b, x, type), q = PartsOf(b, y, type);
  if (!IsZero(p.imag) && !IsZero(q.imag)) return std::nullopt;
  const auto product = [&](Value* x0, Value* y0, Value* x1, Value* y1) {
    return WithZero(b, b.CreateFMul(x0, y0), b.CreateFMul(x1, y1), x0, y0);
  };
  Value* real = product(p.real, q.real, b.CreateFNeg(p.imag), q.imag);
  if (IsZero(p.imag)) return Parts{real, product(p.real, q.imag, p.imag, q.real)};
  return Parts{real, product(p.imag, q.real, p.real, q.imag)};
}

// c64: exact products in f64, one rounding of each part.
Value* Product(Builder& b, Value* x, Value* y) {
  if (const auto parts = ProductByReal(b, x, y, ElementType::kC64)) {
    return FromParts(b, *parts, ElementType::kC64);
  }
  const auto wide = [&](Value* z) {
    return PartsOf(b, Converted(b, z, ElementType::kC64, ElementType::kC128), ElementType::kC128);
  };
  const Parts p = wide(x), q = wide(y);
  Value* real = b.CreateFSub(b.CreateFMul(p.real, q.real), b.CreateFMul(p.imag, q.imag));
  Value* imag = b.CreateFAdd(b.CreateFMul(p.real, q.imag), b.CreateFMul(p.imag, q.real));
  const auto narrow = [&](Value* z) {
    return Converted(b, z, ElementType::kF64, ElementType::kF32);
  };
  return FromParts(b, {narrow(real), narrow(imag)}, ElementType::kC64);
}

llvm::Constant* InfinityLike(Value* x) { return llvm::ConstantFP::getInfinity(x->getType()); }

// a·c - d·e of f64 with the rounding of the second product taken back (Kahan; Jeannerod, Louvet and
// Muller 2013: within 1.5 ulp), where no product leaves the range of f64.
Value* DifferenceInRange(Builder& b, Value* a, Value* c, Value* d, Value* e) {
  Value* product = b.CreateFMul(d, e);
  Value* negated = b.CreateFNeg(product);
  Value* rest = Call(b, llvm::Intrinsic::fma, {a, c, negated});
  Value* lost = Call(b, llvm::Intrinsic::fma, {d, e, negated});
  Value* close = b.CreateFSub(rest, lost);  // a zero keeps its sign
  if (!WritesForGpu(b)) return close;
  // Of an infinite product nothing was lost.
  Value* is_lost = b.CreateFCmpOLT(Call(b, llvm::Intrinsic::fabs, {lost}), InfinityLike(lost));
  return b.CreateSelect(is_lost, close, rest);
}

// On a GPU of all numbers: where a product leaves the range of f64, one factor of each is moved by
// a power of two, and the result back. Then both are as large, or the smaller one does not count.
Value* Difference(Builder& b, Value* a, Value* c, Value* d, Value* e) {
  if (!WritesForGpu(b)) return DifferenceInRange(b, a, c, d, e);
  const auto number = [&](double x) { return NumberLike(a, x); };
  const auto size = [&](Value* x) { return Call(b, llvm::Intrinsic::fabs, {x}); };
  Value *first = size(b.CreateFMul(a, c)), *second = size(b.CreateFMul(d, e));
  const auto are_below = [&](double limit) {
    return b.CreateAnd(b.CreateFCmpOLT(first, number(limit)),
                       b.CreateFCmpOLT(second, number(limit)));
  };
  Value* is_small = are_below(0x1p-900);
  Value* is_usual = b.CreateAnd(b.CreateNot(is_small), are_below(0x1p1000));
  // Twice: 2^1030 is no number of f64.
  const auto power = [&](double small, double large) {
    Value* odd = b.CreateSelect(is_small, number(small), number(large));
    return b.CreateSelect(is_usual, number(1), odd);
  };
  const auto times = [&](Value* x, Value* by) { return b.CreateFMul(b.CreateFMul(x, by), by); };
  Value* to = power(0x1p515, 0x1p-515);
  // The smaller factor is raised or the larger one lowered, so that neither becomes 0 or infinite.
  const auto move = [&](Value*& x, Value*& y) {
    Value* is_first = b.CreateXor(b.CreateFCmpOLT(size(x), size(y)), b.CreateNot(is_small));
    x = times(x, b.CreateSelect(is_first, to, number(1)));
    y = times(y, b.CreateSelect(is_first, number(1), to));
  };
  move(a, c);
  move(d, e);
  return times(DifferenceInRange(b, a, c, d, e), power(0x1p-515, 0x1p515));
}

// c128.
Value* CompensatedProduct(Builder& b, Value* x, Value* y) {
  const Parts p = PartsOf(b, x, ElementType::kC128), q = PartsOf(b, y, ElementType::kC128);
  Value* real = Difference(b, p.real, q.real, p.imag, q.imag);
  Value* imag = Difference(b, p.real, q.imag, b.CreateFNeg(p.imag), q.real);
  return FromParts(b, {real, imag}, ElementType::kC128);
}

Value* IsFinite(Builder& b, Value* x) {
  return b.CreateFCmpOLT(Call(b, llvm::Intrinsic::fabs, {x}), InfinityLike(x));
}
Value* AreFinite(Builder& b, const Parts& parts) {
  return b.CreateAnd(IsFinite(b, parts.real), IsFinite(b, parts.imag));
}

// A number, and the lanes (null: none) where that is the runtime's to say.
struct InLanes {
  Value *value, *is_lost;
};

// The quotient by a number that is known to be real.
std::optional<InLanes> QuotientByReal(Builder& b, Value* x, Value* y, ElementType type) {
  const Parts p = PartsOf(b, x, type), q = PartsOf(b, y, type);
  if (!IsZero(q.imag)) return std::nullopt;
  const auto part = [&](Value* above, Value* other) {
    Value* ratio = b.CreateFDiv(above, q.real);
    Value* with_zero = b.CreateFAdd(ratio, b.CreateFMul(other, q.imag));
    return b.CreateSelect(b.CreateFCmpOEQ(above, NumberLike(above, 0)), with_zero, ratio);
  };
  const Parts quotient{part(p.real, p.imag), part(p.imag, b.CreateFNeg(p.real))};
  Value* is_known = b.CreateAnd(AreFinite(b, quotient), IsFinite(b, q.real));
  return InLanes{FromParts(b, quotient, type), b.CreateNot(is_known)};
}

// Of numbers whose squares stay in the range of f64. Where an operand is not finite or the divisor
// is 0, C's Annex G says what the quotient is, and the runtime knows.
InLanes QuotientInRange(Builder& b, Value* x, Value* y, ElementType type) {
  const auto wide = [&](Value* z) {
    return PartsOf(b, Converted(b, z, type, ElementType::kC128), ElementType::kC128);
  };
  const Parts p = wide(x), q = wide(y);
  Value* square = b.CreateFMul(q.imag, q.imag);
  Value* size = Call(b, llvm::Intrinsic::fma, {q.real, q.real, square});
  const auto difference = [&](Value* x0, Value* y0, Value* x1, Value* y1) {
    if (type == ElementType::kC128) return DifferenceInRange(b, x0, y0, x1, y1);
    return b.CreateFSub(b.CreateFMul(x0, y0), b.CreateFMul(x1, y1));  // the products are exact
  };
  const Parts above{difference(p.real, q.real, b.CreateFNeg(p.imag), q.imag),
                    difference(p.imag, q.real, p.real, q.imag)};
  Value* is_divisor = b.CreateAnd(IsFinite(b, size), b.CreateFCmpOGT(size, NumberLike(size, 0)));
  Value* is_known = b.CreateAnd(AreFinite(b, above), is_divisor);
  const Parts quotient{b.CreateFDiv(above.real, size), b.CreateFDiv(above.imag, size)};
  Value* whole = FromParts(b, quotient, ElementType::kC128);
  return {Converted(b, whole, ElementType::kC128, type), b.CreateNot(is_known)};
}

// On a CPU, where a part of c128 is so large or small that something on the way of a function may
// leave the range of f64; null for c64, which is computed in f64.
Value* IsFar(Builder& b, std::span<Value* const> in, ElementType type) {
  if (WritesForGpu(b)) return nullptr;
  Value* is_far = nullptr;
  const auto note = [&](Value* condition) {
    is_far = is_far == nullptr ? condition : b.CreateOr(is_far, condition);
  };
  for (Value* operand : type == ElementType::kC128 ? in : std::span<Value* const>()) {
    const Parts parts = PartsOf(b, operand, ElementType::kC128);
    for (Value* part : {parts.real, parts.imag}) {
      Value* size = Call(b, llvm::Intrinsic::fabs, {part});
      note(b.CreateNot(b.CreateFCmpOLT(size, NumberLike(size, 0x1p400))));  // NaN, too
      note(b.CreateAnd(b.CreateFCmpOLT(size, NumberLike(size, 0x1p-400)),
                       b.CreateFCmpONE(size, NumberLike(size, 0))));
    }
  }
  return is_far;
}

// On a CPU a function of numbers, but in the lanes that are lost and those of `is_far` (null: none)
// the runtime's, which computes in wider numbers. The others of a vector are zeros there, of which
// functions are quickly known.
Value* WithRuntimeFallback(Builder& b, Opcode opcode, std::span<Value* const> in, InLanes known,
                           ElementType type, Value* is_far) {
  if (known.is_lost != nullptr && !WritesForGpu(b)) {
    is_far = is_far == nullptr ? known.is_lost : b.CreateOr(is_far, known.is_lost);
  }
  if (is_far == nullptr) return known.value;
  // By parts: LLVM has no registers for lanes of 128 bits.
  const Parts parts = PartsOf(b, known.value, type);
  const auto chosen = Where(b, is_far, {parts.real, parts.imag}, [&] {
    std::vector<Value*> operands;
    for (Value* operand : in) {
      Value* zero = llvm::Constant::getNullValue(operand->getType());
      operands.push_back(b.CreateSelect(is_far, operand, zero));
    }
    const Parts made = PartsOf(b, CallByLane(b, opcode, operands, type), type);
    return std::vector{made.real, made.imag};
  });
  return FromParts(b, {chosen[0], chosen[1]}, type);
}

Value* AtLeast(Builder& b, Value* x, Value* y, ElementType type) {
  const Parts p = PartsOf(b, x, type), q = PartsOf(b, y, type);
  Value* ties = b.CreateAnd(b.CreateFCmpOEQ(p.real, q.real), b.CreateFCmpOGE(p.imag, q.imag));
  return b.CreateOr(b.CreateFCmpOGT(p.real, q.real), ties);
}

// On a CPU: atan2, which differs on a branch cut, and functions of c128 whose parts may cancel,
// which f64 has not the digits for.
bool IsLeftToRuntime(Opcode opcode, ElementType type) {
  constexpr hlo::OpcodeSet kOfC64 = {Opcode::kAtan2};
  constexpr hlo::OpcodeSet kOfC128 = {Opcode::kAtan2, Opcode::kExpm1, Opcode::kLogistic,
                                      Opcode::kPower};
  return (type == ElementType::kC128 ? kOfC128 : kOfC64).Has(opcode);
}

// What needs no more than the parts of the operands.
using ByParts = Value* (*)(Builder& b, const Parts& p, const Parts& q, ElementType type);
constexpr hlo::OpcodeTable<ByParts> kByParts = {
    {Opcode::kAbs,
     [](Builder& b, const Parts& p, const Parts&, ElementType) {
       Value* parts[] = {p.real, p.imag};
       return Function(b, Opcode::kAbs, parts);
     }},
    {Opcode::kAdd,
     [](Builder& b, const Parts& p, const Parts& q, ElementType type) {
       return FromParts(b, {b.CreateFAdd(p.real, q.real), b.CreateFAdd(p.imag, q.imag)}, type);
     }},
    {Opcode::kImag, [](Builder&, const Parts& p, const Parts&, ElementType) { return p.imag; }},
    {Opcode::kNegate,
     [](Builder& b, const Parts& p, const Parts&, ElementType type) {
       return FromParts(b, {b.CreateFNeg(p.real), b.CreateFNeg(p.imag)}, type);
     }},
    {Opcode::kReal, [](Builder&, const Parts& p, const Parts&, ElementType) { return p.real; }},
    {Opcode::kSubtract,
     [](Builder& b, const Parts& p, const Parts& q, ElementType type) {
       return FromParts(b, {b.CreateFSub(p.real, q.real), b.CreateFSub(p.imag, q.imag)}, type);
     }},
};

}  // namespace

Value* ComplexElementwise(Builder& b, Opcode opcode, std::span<Value* const> in, ElementType type) {
  if (const ByParts by_parts = kByParts[opcode]; by_parts != nullptr) {
    const Parts p = PartsOf(b, in[0], type);
    return by_parts(b, p, in.size() > 1 ? PartsOf(b, in[1], type) : Parts{}, type);
  }
  if (opcode == Opcode::kMaximum) {
    return b.CreateSelect(AtLeast(b, in[0], in[1], type), in[0], in[1]);
  }
  if (opcode == Opcode::kMinimum) {
    return b.CreateSelect(AtLeast(b, in[1], in[0], type), in[0], in[1]);
  }
  if (opcode == Opcode::kMultiply) {
    if (type == ElementType::kC64) return Product(b, in[0], in[1]);
    if (const auto parts = ProductByReal(b, in[0], in[1], type)) {
      const InLanes product{FromParts(b, *parts, type), b.CreateNot(AreFinite(b, *parts))};
      return WithRuntimeFallback(b, opcode, in, product, type, nullptr);
    }
    const InLanes product{CompensatedProduct(b, in[0], in[1]), nullptr};
    return WithRuntimeFallback(b, opcode, in, product, type, IsFar(b, in, type));
  }
  if (opcode == Opcode::kDivide && !WritesForGpu(b)) {
    if (const auto quotient = QuotientByReal(b, in[0], in[1], type)) {
      return WithRuntimeFallback(b, opcode, in, *quotient, type, nullptr);
    }
    return WithRuntimeFallback(b, opcode, in, QuotientInRange(b, in[0], in[1], type), type,
                               IsFar(b, in, type));
  }
  if (WritesForGpu(b) || !IsLeftToRuntime(opcode, type)) {
    Value* is_lost = nullptr;
    Value** const judged = WritesForGpu(b) ? nullptr : &is_lost;
    if (Value* value = InlineComplexFunction(b, opcode, in, type, judged)) {
      return WithRuntimeFallback(b, opcode, in, {value, is_lost}, type, IsFar(b, in, type));
    }
  }
  return CallByLane(b, opcode, in, type);
}

Value* ComplexClamped(Builder& b, Value* low, Value* x, Value* high, ElementType type) {
  Value* raised = b.CreateSelect(AtLeast(b, x, low, type), x, low);
  return b.CreateSelect(AtLeast(b, high, raised, type), raised, high);
}

Value* ComplexEqual(Builder& b, Value* x, Value* y, ElementType type) {
  const Parts p = PartsOf(b, x, type), q = PartsOf(b, y, type);
  return b.CreateAnd(b.CreateFCmpOEQ(p.real, q.real), b.CreateFCmpOEQ(p.imag, q.imag));
}

}  // namespace hloscope::codegen
