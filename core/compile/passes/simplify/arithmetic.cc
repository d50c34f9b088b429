// Rules of arithmetic.
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "core/compile/passes/simplify/rules.h"
#include "core/hlo/float_types.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Opcode;
using hlo::Shape;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What leaves the other operand as it is, for floats and for integers; NaN: nothing does.
struct NeutralRow {
  Opcode opcode;
  double of_float, of_integer;
  bool on_both_sides;
};
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr NeutralRow kNeutral[] = {
    {Opcode::kAdd, -0.0, 0, true},
    {Opcode::kAnd, kNone, -1, true},
    {Opcode::kDivide, 1, 1, false},
    {Opcode::kMaximum, -kInfinity, kNone, true},
    {Opcode::kMinimum, kInfinity, kNone, true},
    {Opcode::kMultiply, 1, 1, true},
    {Opcode::kOr, kNone, 0, true},
    {Opcode::kShiftLeft, kNone, 0, false},
    {Opcode::kShiftRightArithmetic, kNone, 0, false},
    {Opcode::kShiftRightLogical, kNone, 0, false},
    {Opcode::kSubtract, 0, 0, false},
    {Opcode::kXor, kNone, 0, true},
};

// All bits of the type set: 1 of pred.
bool IsAllOnes(Edit& edit, InstructionId id) {
  const auto number = NumberOf(edit, id);
  if (!number || IsFloat(number->type)) return false;
  if (number->type == ElementType::kPred) return number->integer == 1;
  const int bits = BitWidth(number->type);
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  return (static_cast<uint64_t>(number->integer) & mask) == mask;
}

bool IsNeutral(Edit& edit, const NeutralRow& row, InstructionId id) {
  const ElementType type = edit.shape(id).element_type();
  const double neutral = IsFloat(type) ? row.of_float : row.of_integer;
  if (std::isnan(neutral) || IsComplex(type)) return false;
  if (neutral == -1) return IsAllOnes(edit, id);
  // Sums and products of preds are or and and: 0 and 1 serve there too.
  return IsAll(edit, id, neutral);
}

bool IsIntegral(ElementType type) { return IsInteger(type) || type == ElementType::kPred; }

// 2^k of a positive power of two, else nothing.
std::optional<int> PowerOfTwo(const Number& number) {
  const auto value = static_cast<uint64_t>(number.integer);
  if (!IsUnsigned(number.type) || !std::has_single_bit(value)) return std::nullopt;
  return std::countr_zero(value);
}

// True if every value of `from` is one of `to`.
bool IsLossless(ElementType from, ElementType to) {
  if (from == to) return true;
  if (IsComplex(from) || IsComplex(to) || BitWidth(from) < 8 || BitWidth(to) < 8) return false;
  if (from == ElementType::kPred) return IsInteger(to) || (IsFloat(to) && BitWidth(to) >= 16);
  if (to == ElementType::kPred) return false;
  if (IsFloat(from)) {
    if (!IsFloat(to) || BitWidth(from) < 16) return false;
    return BitWidth(to) == 64 || (BitWidth(to) == 32 && BitWidth(from) == 16);
  }
  if (IsInteger(to)) {
    if (IsSigned(from)) return IsSigned(to) && BitWidth(to) >= BitWidth(from);
    return IsSigned(to) ? BitWidth(to) > BitWidth(from) : BitWidth(to) >= BitWidth(from);
  }
  if (!IsFloat(to) || BitWidth(to) < 32) return false;
  return BitWidth(from) <= (BitWidth(to) == 64 ? 32 : 16);
}

}  // namespace

InstructionId NeutralOperand(Edit& edit, InstructionId id) {
  for (const NeutralRow& row : kNeutral) {
    if (row.opcode != edit.opcode(id)) continue;
    for (size_t slot = 0; slot < 2; ++slot) {
      if (slot == 0 && !row.on_both_sides) continue;
      if (IsNeutral(edit, row, edit.operand(id, slot))) return edit.operand(id, 1 - slot);
    }
  }
  return kNoReplacement;
}

// x * 0 and x & 0 of integers, x | ones: that operand itself.
InstructionId AbsorbingOperand(Edit& edit, InstructionId id) {
  if (!IsIntegral(edit.shape(id).element_type())) return kNoReplacement;
  for (size_t slot = 0; slot < 2; ++slot) {
    const InstructionId operand = edit.operand(id, slot);
    const bool absorbs =
        edit.opcode(id) == Opcode::kOr ? IsAllOnes(edit, operand) : IsAll(edit, operand, 0);
    if (absorbs) return operand;
  }
  return kNoReplacement;
}

InstructionId EqualOperands(Edit& edit, InstructionId id) {
  const bool equal = edit.operand(id, 0) == edit.operand(id, 1);
  return equal && !IsComplex(edit.shape(id).element_type()) ? edit.operand(id, 0) : kNoReplacement;
}

InstructionId DifferenceOfEqualIntegers(Edit& edit, InstructionId id) {
  if (edit.operand(id, 0) != edit.operand(id, 1)) return kNoReplacement;
  if (!IsInteger(edit.shape(id).element_type()) || BitWidth(edit.shape(id).element_type()) < 8) {
    return kNoReplacement;
  }
  return Filled(edit, id, edit.shape(id), 0);
}

InstructionId OfEqualIntegers(Edit& edit, InstructionId id) {
  const InstructionId operand = edit.operand(id, 0);
  if (operand != edit.operand(id, 1) || !IsIntegral(edit.shape(operand).element_type())) {
    return kNoReplacement;
  }
  const hlo::Attribute* a = edit.Find(id, AttributeKey::kDirection);
  if (a == nullptr) return kNoReplacement;
  const auto direction = static_cast<hlo::ComparisonDirection>(a->value);
  const bool holds = direction == hlo::ComparisonDirection::kEq ||
                     direction == hlo::ComparisonDirection::kGe ||
                     direction == hlo::ComparisonDirection::kLe;
  return Filled(edit, id, edit.shape(id), holds ? 1 : 0);
}

namespace {

// The type has no sign: what is negated is no number, whatever it was.
bool NegatesToNan(ElementType type) { return type == ElementType::kF8E8M0FNU; }

}  // namespace

InstructionId DoubleNegation(Edit& edit, InstructionId id) {
  const InstructionId inner = edit.operand(id, 0);
  if (NegatesToNan(edit.shape(id).element_type())) return kNoReplacement;
  return edit.opcode(inner) == edit.opcode(id) ? edit.operand(inner, 0) : kNoReplacement;
}

// |−x| and ||x||.
InstructionId OfNegation(Edit& edit, InstructionId id) {
  const InstructionId inner = edit.operand(id, 0);
  if (IsComplex(edit.shape(inner).element_type())) return kNoReplacement;
  if (edit.opcode(inner) == Opcode::kAbs) return inner;
  if (edit.opcode(inner) != Opcode::kNegate || NegatesToNan(edit.shape(id).element_type())) {
    return kNoReplacement;
  }
  return edit.Add(id, "abs", Opcode::kAbs, edit.shape(id), {edit.operand(inner, 0)});
}

// Of unsigned integers a shift; of floats a product with the reciprocal, which is exact.
InstructionId DivideByPowerOfTwo(Edit& edit, InstructionId id) {
  const InstructionId divisor = edit.operand(id, 1);
  const auto number = NumberOf(edit, divisor);
  if (!number) return kNoReplacement;
  const Shape shape = edit.shape(divisor);
  if (IsFloat(number->type)) {
    int exponent = 0;
    if (std::abs(std::frexp(number->real, &exponent)) != 0.5) return kNoReplacement;
    const double reciprocal = 1 / number->real;
    double kept = 0;
    std::vector<std::byte> bytes(static_cast<size_t>(StorageBytes(number->type)));
    hlo::EncodeFloats(number->type, std::span(&reciprocal, 1), bytes);
    hlo::DecodeFloats(number->type, bytes, std::span(&kept, 1));
    if (kept != reciprocal || !std::isfinite(kept)) return kNoReplacement;
    const InstructionId factor = Filled(edit, id, shape, reciprocal);
    return edit.Add(id, "multiply", Opcode::kMultiply, edit.shape(id),
                    {edit.operand(id, 0), factor});
  }
  const auto power = PowerOfTwo(*number);
  if (!power) return kNoReplacement;
  const InstructionId distance = Filled(edit, id, shape, *power);
  return edit.Add(id, "shift-right-logical", Opcode::kShiftRightLogical, edit.shape(id),
                  {edit.operand(id, 0), distance});
}

InstructionId RemainderOfPowerOfTwo(Edit& edit, InstructionId id) {
  const auto number = NumberOf(edit, edit.operand(id, 1));
  const auto power = number ? PowerOfTwo(*number) : std::nullopt;
  if (!power || *power > 50) return kNoReplacement;
  const InstructionId mask =
      Filled(edit, id, edit.shape(id), static_cast<double>((uint64_t{1} << *power) - 1));
  return edit.Add(id, "and", Opcode::kAnd, edit.shape(id), {edit.operand(id, 0), mask});
}

// x^1 is x, x^2 is x·x rounded once.
InstructionId SmallPower(Edit& edit, InstructionId id) {
  const InstructionId base = edit.operand(id, 0), exponent = edit.operand(id, 1);
  if (!IsFloat(edit.shape(id).element_type())) return kNoReplacement;
  if (IsAll(edit, exponent, 1)) return base;
  if (!IsAll(edit, exponent, 2)) return kNoReplacement;
  return edit.Add(id, "multiply", Opcode::kMultiply, edit.shape(id), {base, base});
}

InstructionId ChainOfConverts(Edit& edit, InstructionId id) {
  const InstructionId from = edit.operand(id, 0);
  if (SameArray(edit.shape(from), edit.shape(id))) return from;
  if (edit.opcode(from) != Opcode::kConvert) return kNoReplacement;
  const InstructionId first = edit.operand(from, 0);
  const ElementType type = edit.shape(first).element_type();
  const ElementType between = edit.shape(from).element_type(), to = edit.shape(id).element_type();
  if (!IsLossless(type, between)) return kNoReplacement;
  // A float that an integer cannot hold becomes its limit, an integer wraps around.
  const bool wraps = !IsFloat(type) && IsFloat(between) && !IsFloat(to) && !IsComplex(to);
  if (wraps && !IsLossless(type, to)) return kNoReplacement;
  if (SameArray(edit.shape(first), edit.shape(id))) return first;
  return edit.Add(id, "convert", Opcode::kConvert, edit.shape(id), {first});
}

InstructionId ChainOfBitcastConverts(Edit& edit, InstructionId id) {
  const InstructionId from = edit.operand(id, 0);
  if (SameArray(edit.shape(from), edit.shape(id))) return from;
  if (edit.opcode(from) != Opcode::kBitcastConvert) return kNoReplacement;
  const InstructionId first = edit.operand(from, 0);
  const int width = BitWidth(edit.shape(id).element_type());
  if (BitWidth(edit.shape(from).element_type()) != width ||
      BitWidth(edit.shape(first).element_type()) != width) {
    return kNoReplacement;
  }
  if (SameArray(edit.shape(first), edit.shape(id))) return first;
  return edit.Add(id, "bitcast-convert", Opcode::kBitcastConvert, edit.shape(id), {first});
}

// By a predicate that is known, or between equal values.
InstructionId ConstantChoice(Edit& edit, InstructionId id) {
  if (edit.operand(id, 1) == edit.operand(id, 2)) return edit.operand(id, 1);
  const auto chosen = NumberOf(edit, edit.operand(id, 0));
  return chosen ? edit.operand(id, chosen->integer != 0 ? 1 : 2) : kNoReplacement;
}

InstructionId SelectByNegation(Edit& edit, InstructionId id) {
  const InstructionId predicate = edit.operand(id, 0);
  if (edit.opcode(predicate) != Opcode::kNot) return kNoReplacement;
  return edit.Add(id, "select", Opcode::kSelect, edit.shape(id),
                  {edit.operand(predicate, 0), edit.operand(id, 2), edit.operand(id, 1)});
}

}  // namespace hloscope::compile
