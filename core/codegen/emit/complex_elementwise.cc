// Complex numbers by their parts, or lane by lane where that takes an order of operations.
#include "core/codegen/emit/complex_elementwise.h"

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

// c64: exact products in f64, one rounding of each part.
Value* Product(Builder& b, Value* x, Value* y) {
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

// On a CPU `value`, a function of numbers, but where `is_lost` (null: nowhere) or a part of c128 is
// so large or small that something on the way may leave the range of f64: that is the runtime's, in
// wider numbers. The others of a vector are zeros there, of which functions are quickly known.
Value* WithRuntimeFallback(Builder& b, Opcode opcode, std::span<Value* const> in, Value* value,
                           ElementType type, Value* is_lost) {
  if (WritesForGpu(b)) return value;
  Value* is_far = is_lost;
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
  if (is_far == nullptr) return value;
  return Where(b, is_far, {value}, [&] {
    std::vector<Value*> operands;
    for (Value* operand : in) {
      Value* zero = llvm::Constant::getNullValue(operand->getType());
      operands.push_back(b.CreateSelect(is_far, operand, zero));
    }
    return std::vector{CallByLane(b, opcode, operands, type)};
  })[0];
}

Value* AtLeast(Builder& b, Value* x, Value* y, ElementType type) {
  const Parts p = PartsOf(b, x, type), q = PartsOf(b, y, type);
  Value* ties = b.CreateAnd(b.CreateFCmpOEQ(p.real, q.real), b.CreateFCmpOGE(p.imag, q.imag));
  return b.CreateOr(b.CreateFCmpOGT(p.real, q.real), ties);
}

// On a CPU: atan2, which differs on a branch cut, c64's quotient, which is fast enough, and
// functions of c128 whose parts may cancel, which f64 has not the digits for.
bool IsLeftToRuntime(Opcode opcode, ElementType type) {
  constexpr hlo::OpcodeSet kOfC64 = {Opcode::kAtan2, Opcode::kDivide};
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
    const bool is_single = type == ElementType::kC64;
    return is_single ? Product(b, in[0], in[1])
                     : WithRuntimeFallback(b, opcode, in, CompensatedProduct(b, in[0], in[1]), type,
                                           nullptr);
  }
  if (WritesForGpu(b) || !IsLeftToRuntime(opcode, type)) {
    Value* is_lost = nullptr;
    Value** const judged = WritesForGpu(b) ? nullptr : &is_lost;
    if (Value* value = InlineComplexFunction(b, opcode, in, type, judged)) {
      return WithRuntimeFallback(b, opcode, in, value, type, is_lost);
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
