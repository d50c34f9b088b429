// AskOfOperand: arithmetic turned round, where the other operand is known or may share the burden.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/replay/inputs/constraint_flow.h"

namespace hloscope::replay {

using hlo::InstructionId;
using hlo::Opcode;

namespace {

InputConstraints Asking(const Interval& range, bool nonzero = false) {
  InputConstraints constraints;
  if (!range.empty()) constraints.range = range;
  constraints.nonzero = nonzero;
  return constraints;
}

// The one number an operand can be, or NaN.
double Single(const Interval& range) { return range.low == range.high ? range.low : std::nan(""); }

// x + y in `wanted` for every y in `other`.
Interval Less(const Interval& wanted, const Interval& other) {
  return {wanted.low - other.low, wanted.high - other.high};
}

// What x and y may be so that x + y is in `wanted` where neither is known.
Interval HalfOf(const Interval& wanted) { return {wanted.low / 2, wanted.high / 2}; }

InputConstraints AskOfAdd(const Interval& wanted, const Interval& other) {
  if (other.bounded()) return Asking(Less(wanted, other));
  return Asking(HalfOf(wanted));
}

// For x - y. Unknown both: y takes [0, w], x [low + w, high], w half of the width.
InputConstraints AskOfSubtract(const Interval& wanted, const Interval& other, size_t slot) {
  if (other.bounded()) {
    if (slot == 0) return Asking({wanted.low + other.high, wanted.high + other.low});
    return Asking({other.high - wanted.high, other.low - wanted.low});
  }
  if (!wanted.bounded()) return {};
  const double half = std::floor(wanted.Width() / 2);
  return slot == 0 ? Asking({wanted.low + half, wanted.high}) : Asking({0, half});
}

// x such that x * factor is in `wanted`.
Interval Divided(const Interval& wanted, double factor) {
  const Interval range{wanted.low / factor, wanted.high / factor};
  return factor > 0 ? range : Interval{range.high, range.low};
}

InputConstraints AskOfMultiply(const InputConstraints& constraints, const Interval& other,
                               bool square) {
  const double factor = Single(other);
  if (!std::isnan(factor) && factor != 0) {
    return Asking(Divided(constraints.range, factor), constraints.nonzero);
  }
  if (square) return Asking({}, constraints.nonzero || constraints.range.low > 0);
  if (constraints.range.low >= 0) {
    const double high = std::sqrt(constraints.range.high);
    return Asking({std::sqrt(constraints.range.low), high}, constraints.nonzero);
  }
  return Asking({}, constraints.nonzero);
}

InputConstraints AskOfDivide(const InputConstraints& constraints, const Interval& other,
                             size_t slot) {
  if (slot == 1)
    return constraints.range.low >= 0 ? Asking({0, kInfinity}, true) : InputConstraints();
  const double divisor = Single(other);
  if (!std::isnan(divisor) && divisor != 0) {
    return Asking(Divided(constraints.range, 1 / divisor), constraints.nonzero);
  }
  // Divisors of positive quotients are asked to be positive too.
  return constraints.range.low >= 0
             ? Asking({constraints.range.low, kInfinity}, constraints.nonzero)
             : Asking({}, constraints.nonzero);
}

InputConstraints AskOfBound(const InputConstraints& constraints, const Interval& other,
                            bool maximum) {
  Interval range = constraints.range;
  if (other.Inside(constraints.range))
    (maximum ? range.low : range.high) = maximum ? -kInfinity : kInfinity;
  return Asking(range, constraints.nonzero);
}

InputConstraints AskOfConvert(const hlo::Module& module, InstructionId id,
                              const InputConstraints& constraints) {
  const hlo::ElementType to = module.shape(id).element_type();
  const hlo::ElementType from = module.shape(module.operands(id)[0]).element_type();
  InputConstraints asked = constraints;
  if (to == hlo::ElementType::kPred) {
    if (constraints.range.high < 1) return Asking(Interval::Only(0));
    return Asking({}, constraints.range.low > 0 || constraints.nonzero);
  }
  const bool narrows = hlo::IsFloat(from) == hlo::IsFloat(to) || hlo::IsInteger(to);
  const hlo::ElementType passes =
      constraints.passes == hlo::ElementType::kInvalid ? to : constraints.passes;
  asked.passes = narrows && hlo::BitWidth(passes) < hlo::BitWidth(from) &&
                         (constraints.distinct || constraints.nonzero)
                     ? passes
                     : hlo::ElementType::kInvalid;
  // Floats truncate: those just below the next integer still hit the bound.
  return asked;
}

InputConstraints AskOfAbs(const InputConstraints& constraints) {
  if (constraints.range.low <= 0)
    return Asking({-constraints.range.high, constraints.range.high}, constraints.nonzero);
  return Asking(constraints.range);
}

InputConstraints AskOfShift(const InputConstraints& constraints, const Interval& other, bool left) {
  const double bits = Single(other);
  if (std::isnan(bits) || bits < 0 || bits > 63) return {};
  const double factor = std::ldexp(1, static_cast<int>(bits));
  if (left) return Asking({constraints.range.low / factor, constraints.range.high / factor});
  return Asking({constraints.range.low * factor, (constraints.range.high + 1) * factor - 1});
}

// Adding one number to all leaves their order and differences.
InputConstraints InOrder(InputConstraints asked, const InputConstraints& constraints,
                         const Interval& other) {
  if (std::isnan(Single(other))) return asked;
  asked.sorted = constraints.sorted;
  asked.distinct = constraints.distinct;
  return asked;
}

// Sums, multiples and selections of matrices of a structure have it too.
bool KeepsMatrices(Opcode opcode, size_t slot) {
  const bool is_scaled = opcode == Opcode::kMultiply || opcode == Opcode::kDivide;
  return opcode == Opcode::kAdd || (is_scaled && slot == 0);
}

}  // namespace

InputConstraints AskOfOperand(const hlo::Module& module, const ValueRanges& ranges,
                              InstructionId id, size_t slot, const InputConstraints& whole) {
  const auto operands = module.operands(id);
  const InputConstraints constraints = whole.Unordered();
  const Opcode opcode = module[id].opcode;
  const Interval other = operands.size() == 2 ? ranges[operands[1 - slot]] : Interval();
  const bool matrices = whole.structure == Structure::kPositiveDefinite ||
                        whole.structure == Structure::kDominantDiagonal;
  if (matrices) {
    InputConstraints same;
    if (KeepsMatrices(opcode, slot)) same.structure = whole.structure;
    if (opcode != Opcode::kConvert) return same;
  }
  switch (opcode) {
    case Opcode::kConvert:
      return AskOfConvert(module, id, whole);
    case Opcode::kReducePrecision:
    case Opcode::kFloor:
    case Opcode::kCeil:
    case Opcode::kRoundNearestAfz:
    case Opcode::kRoundNearestEven:
      return whole;
    case Opcode::kSign:
      return Asking(
          {constraints.range.low > 0 ? 1 : -kInfinity, constraints.range.high < 0 ? -1 : kInfinity},
          constraints.nonzero);
    case Opcode::kNegate:
      return Asking({-constraints.range.high, -constraints.range.low}, constraints.nonzero);
    case Opcode::kAbs:
      return AskOfAbs(constraints);
    case Opcode::kSqrt:
      return Asking({}, constraints.nonzero || constraints.range.low > 0);
    case Opcode::kAdd:
      return InOrder(AskOfAdd(constraints.range, other), constraints, other);
    case Opcode::kSubtract:
      return slot == 0 ? InOrder(AskOfSubtract(constraints.range, other, 0), constraints, other)
                       : AskOfSubtract(constraints.range, other, 1);
    case Opcode::kMultiply:
      return AskOfMultiply(constraints, other, operands[0] == operands[1]);
    case Opcode::kDivide:
      return AskOfDivide(constraints, other, slot);
    case Opcode::kMaximum:
    case Opcode::kMinimum:
      return InOrder(AskOfBound(constraints, other, opcode == Opcode::kMaximum), constraints,
                     other);
    case Opcode::kClamp:
      return slot == 1 ? whole : InputConstraints();
    case Opcode::kRemainder:
      return slot == 0 && constraints.range.low == 0 ? Asking({0, kInfinity}) : InputConstraints();
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightArithmetic:
    case Opcode::kShiftRightLogical:
      return slot == 0 ? AskOfShift(constraints, other, opcode == Opcode::kShiftLeft)
                       : InputConstraints();
    default:
      return {};
  }
}

}  // namespace hloscope::replay
