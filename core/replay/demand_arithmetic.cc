// AskOfOperand: arithmetic turned round, where the other operand is known or may share the burden.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/replay/demand_flow.h"

namespace hloscope::replay {

using hlo::InstructionId;
using hlo::Opcode;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Demand Asking(const Interval& range, bool nonzero = false) {
  Demand demand;
  if (!range.empty()) demand.range = range;
  demand.nonzero = nonzero;
  return demand;
}

// The one number an operand can be, or NaN.
double Single(const Interval& range) { return range.low == range.high ? range.low : std::nan(""); }

// x + y in `wanted` for every y in `other`.
Interval Less(const Interval& wanted, const Interval& other) {
  return {wanted.low - other.low, wanted.high - other.high};
}

// What x and y may be so that x + y is in `wanted` where neither is known.
Interval HalfOf(const Interval& wanted) { return {wanted.low / 2, wanted.high / 2}; }

Demand AskOfAdd(const Interval& wanted, const Interval& other) {
  if (other.bounded()) return Asking(Less(wanted, other));
  return Asking(HalfOf(wanted));
}

// For x - y. Unknown both: y takes [0, w], x [low + w, high], w half of the width.
Demand AskOfSubtract(const Interval& wanted, const Interval& other, size_t slot) {
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

Demand AskOfMultiply(const Demand& demand, const Interval& other, bool square) {
  const double factor = Single(other);
  if (!std::isnan(factor) && factor != 0) {
    return Asking(Divided(demand.range, factor), demand.nonzero);
  }
  if (square) return Asking({}, demand.nonzero || demand.range.low > 0);
  if (demand.range.low >= 0) {
    const double high = std::sqrt(demand.range.high);
    return Asking({std::sqrt(demand.range.low), high}, demand.nonzero);
  }
  return Asking({}, demand.nonzero);
}

Demand AskOfDivide(const Demand& demand, const Interval& other, size_t slot) {
  if (slot == 1) return demand.range.low >= 0 ? Asking({0, kInfinity}, true) : Demand();
  const double divisor = Single(other);
  if (!std::isnan(divisor) && divisor != 0) {
    return Asking(Divided(demand.range, 1 / divisor), demand.nonzero);
  }
  // Divisors of positive quotients are asked to be positive too.
  return demand.range.low >= 0 ? Asking({demand.range.low, kInfinity}, demand.nonzero)
                               : Asking({}, demand.nonzero);
}

Demand AskOfBound(const Demand& demand, const Interval& other, bool maximum) {
  Interval range = demand.range;
  if (other.Inside(demand.range))
    (maximum ? range.low : range.high) = maximum ? -kInfinity : kInfinity;
  return Asking(range, demand.nonzero);
}

Demand AskOfConvert(const hlo::Module& module, InstructionId id, const Demand& demand) {
  const hlo::ElementType to = module.shape(id).element_type();
  const hlo::ElementType from = module.shape(module.operands(id)[0]).element_type();
  Demand asked = demand;
  if (to == hlo::ElementType::kPred) {
    if (demand.range.high < 1) return Asking(Interval::Only(0));
    return Asking({}, demand.range.low > 0 || demand.nonzero);
  }
  const bool narrows = hlo::IsFloat(from) == hlo::IsFloat(to) || hlo::IsInteger(to);
  const hlo::ElementType passes = demand.passes == hlo::ElementType::kInvalid ? to : demand.passes;
  asked.passes =
      narrows && hlo::BitWidth(passes) < hlo::BitWidth(from) && (demand.distinct || demand.nonzero)
          ? passes
          : hlo::ElementType::kInvalid;
  // Floats truncate: those just below the next integer still hit the bound.
  return asked;
}

Demand AskOfAbs(const Demand& demand) {
  if (demand.range.low <= 0) return Asking({-demand.range.high, demand.range.high}, demand.nonzero);
  return Asking(demand.range);
}

Demand AskOfShift(const Demand& demand, const Interval& other, bool left) {
  const double bits = Single(other);
  if (std::isnan(bits) || bits < 0 || bits > 63) return {};
  const double factor = std::ldexp(1, static_cast<int>(bits));
  if (left) return Asking({demand.range.low / factor, demand.range.high / factor});
  return Asking({demand.range.low * factor, (demand.range.high + 1) * factor - 1});
}

// Adding one number to all leaves their order and differences.
Demand InOrder(Demand asked, const Demand& demand, const Interval& other) {
  if (std::isnan(Single(other))) return asked;
  asked.sorted = demand.sorted;
  asked.distinct = demand.distinct;
  return asked;
}

// Sums, multiples and selections of matrices of a structure have it too.
bool KeepsMatrices(Opcode opcode, size_t slot) {
  switch (opcode) {
    case Opcode::kAdd:
      return true;
    case Opcode::kMultiply:
    case Opcode::kDivide:
      return slot == 0;
    default:
      return false;
  }
}

}  // namespace

Demand AskOfOperand(const hlo::Module& module, const ValueRanges& ranges, InstructionId id,
                    size_t slot, const Demand& whole) {
  const auto operands = module.operands(id);
  const Demand demand = whole.Unordered();
  const Opcode opcode = module[id].opcode;
  const Interval other = operands.size() == 2 ? ranges[operands[1 - slot]] : Interval();
  const bool matrices = whole.structure == Structure::kPositiveDefinite ||
                        whole.structure == Structure::kDominantDiagonal;
  if (matrices) {
    Demand same;
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
      return Asking({demand.range.low > 0 ? 1 : -kInfinity, demand.range.high < 0 ? -1 : kInfinity},
                    demand.nonzero);
    case Opcode::kNegate:
      return Asking({-demand.range.high, -demand.range.low}, demand.nonzero);
    case Opcode::kAbs:
      return AskOfAbs(demand);
    case Opcode::kSqrt:
      return Asking({}, demand.nonzero || demand.range.low > 0);
    case Opcode::kAdd:
      return InOrder(AskOfAdd(demand.range, other), demand, other);
    case Opcode::kSubtract:
      return slot == 0 ? InOrder(AskOfSubtract(demand.range, other, 0), demand, other)
                       : AskOfSubtract(demand.range, other, 1);
    case Opcode::kMultiply:
      return AskOfMultiply(demand, other, operands[0] == operands[1]);
    case Opcode::kDivide:
      return AskOfDivide(demand, other, slot);
    case Opcode::kMaximum:
    case Opcode::kMinimum:
      return InOrder(AskOfBound(demand, other, opcode == Opcode::kMaximum), demand, other);
    case Opcode::kClamp:
      return slot == 1 ? whole : Demand();
    case Opcode::kRemainder:
      return slot == 0 && demand.range.low == 0 ? Asking({0, kInfinity}) : Demand();
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightArithmetic:
    case Opcode::kShiftRightLogical:
      return slot == 0 ? AskOfShift(demand, other, opcode == Opcode::kShiftLeft) : Demand();
    default:
      return {};
  }
}

}  // namespace hloscope::replay
