// AskForShortLoops: reads how a loop counts and makes its beginning and its bound lie close
// together.
#include <algorithm>
#include <cmath>
#include <optional>

#include "core/replay/inputs/constraint_sources.h"

namespace hloscope::replay {

using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

namespace {

// Iterations a loop is given where inputs decide.
constexpr double kIterations = 8;

// Where a scalar in a condition or a body comes from: a leaf of the loop's state plus a number, or
// a number alone.
struct Origin {
  bool is_state = false;
  TuplePath path;
  double offset = 0;
};

// Follows scalars back inside one computation and the fusions and calls it makes.
class Tracer {
 public:
  Tracer(const Module& module, const ValueRanges& ranges) : module_(module), ranges_(ranges) {}

  // Of the value at `path` of an instruction; nullopt where it is computed in other ways.
  std::optional<Origin> Trace(InstructionId id, TuplePath path) {
    callers_.clear();
    Origin origin;
    // Every step goes to an operand, a root or a caller's operand, so it ends.
    for (int steps = 0; steps < kMaxSteps; ++steps) {
      const hlo::Instruction& instruction = module_[id];
      const auto operands = module_.operands(id);
      switch (instruction.opcode) {
        case Opcode::kGetTupleElement:
          path.insert(path.begin(), module_.GetInt(instruction, AttributeKey::kIndex));
          id = operands[0];
          break;
        case Opcode::kTuple:
          if (path.empty()) return std::nullopt;
          id = operands[static_cast<size_t>(path[0])];
          path.erase(path.begin());
          break;
        case Opcode::kCopy:
        case Opcode::kReshape:
        case Opcode::kBitcast:
        case Opcode::kBroadcast:
        case Opcode::kConvert:
        case Opcode::kOptimizationBarrier:
          id = operands[0];
          break;
        case Opcode::kCall:
        case Opcode::kFusion: {
          const auto called = module_.CalledComputations(instruction);
          if (called.empty()) return std::nullopt;
          callers_.push_back(id);
          id = module_[called[0]].root;
          break;
        }
        case Opcode::kParameter: {
          if (callers_.empty()) {
            origin.is_state = true;
            origin.path = std::move(path);
            return origin;
          }
          const int64_t number = module_.GetInt(instruction, AttributeKey::kParameterNumber);
          const auto arguments = module_.operands(callers_.back());
          callers_.pop_back();
          if (std::cmp_greater_equal(number, arguments.size())) return std::nullopt;
          id = arguments[static_cast<size_t>(number)];
          break;
        }
        case Opcode::kAdd:
        case Opcode::kSubtract: {
          const std::optional<InstructionId> rest = TakeNumber(id, origin.offset);
          if (!rest) return Known(id, origin);
          id = *rest;
          break;
        }
        default:
          return Known(id, origin);
      }
    }
    return std::nullopt;
  }

 private:
  static constexpr int kMaxSteps = 10'000;

  std::optional<Origin> Known(InstructionId id, Origin origin) const {
    const Interval& range = ranges_[id];
    if (range.low != range.high) return std::nullopt;
    origin.offset += range.low;
    return origin;
  }

  // The operand that is no number, the other added to `offset`.
  std::optional<InstructionId> TakeNumber(InstructionId id, double& offset) const {
    const auto operands = module_.operands(id);
    const bool subtract = module_[id].opcode == Opcode::kSubtract;
    for (size_t slot : {size_t{1}, size_t{0}}) {
      const Interval& range = ranges_[operands[slot]];
      if (range.low != range.high || (subtract && slot == 0)) continue;
      offset += subtract ? -range.low : range.low;
      return operands[1 - slot];
    }
    return std::nullopt;
  }

  const Module& module_;
  const ValueRanges& ranges_;
  std::vector<InstructionId> callers_;
};

class LoopReader {
 public:
  LoopReader(ConstraintFlow& flow, InstructionId loop)
      : flow_(flow), module_(flow.module()), tracer_(module_, flow.ranges()), loop_(loop) {}

  void Read() {
    const ComputationId condition =
        module_.GetComputation(module_[loop_], AttributeKey::kCondition);
    if (!condition.valid()) return;
    pending_.push_back(module_[condition].root);
    while (!pending_.empty()) {
      const InstructionId id = pending_.back();
      pending_.pop_back();
      ReadConjunct(id);
    }
  }

 private:
  // Comparisons joined by `and`; a flag of the state that never changes must be off.
  void ReadConjunct(InstructionId id) {
    const auto operands = module_.operands(id);
    const Opcode opcode = module_[id].opcode;
    if (opcode == Opcode::kCompare) return ReadComparison(id, operands);
    if (opcode == Opcode::kFusion) return ReadFused(id);
    if (opcode == Opcode::kAnd) {
      pending_.insert(pending_.end(), operands.begin(), operands.end());
      return;
    }
    const std::optional<Origin> flag = tracer_.Trace(id, {});
    if (!flag || !flag->is_state || StepOf(flag->path) != 0) return;
    Ask(flag->path, Interval::Only(0));
  }

  // A fused comparison: its sides are traced through the fusion's operands.
  void ReadFused(InstructionId fusion) {
    const ComputationId callee = module_.GetComputation(module_[fusion], AttributeKey::kCalls);
    const InstructionId root = module_[callee].root;
    if (module_[root].opcode != Opcode::kCompare) return;
    std::vector<InstructionId> sides;
    for (InstructionId side : module_.operands(root)) {
      while (module_[side].opcode == Opcode::kBitcast || module_[side].opcode == Opcode::kCopy) {
        side = module_.operands(side)[0];
      }
      if (module_[side].opcode == Opcode::kParameter) {
        const auto number =
            static_cast<size_t>(module_.GetInt(module_[side], AttributeKey::kParameterNumber));
        if (number >= module_.operands(fusion).size()) return;
        side = module_.operands(fusion)[number];
      } else if (module_[side].opcode != Opcode::kConstant) {
        return;
      }
      sides.push_back(side);
    }
    ReadComparison(root, sides);
  }

  void ReadComparison(InstructionId id, std::span<const InstructionId> sides) {
    if (!hlo::IsInteger(module_.shape(sides[0]).element_type())) return;
    const std::optional<Origin> left = tracer_.Trace(sides[0], {});
    const std::optional<Origin> right = tracer_.Trace(sides[1], {});
    if (!left || !right || (!left->is_state && !right->is_state)) return;
    const auto direction = static_cast<hlo::ComparisonDirection>(
        module_.GetInt(module_[id], AttributeKey::kDirection));
    // The side that moves is the counter.
    const std::optional<double> left_step = left->is_state ? StepOf(left->path) : 0;
    const std::optional<double> right_step = right->is_state ? StepOf(right->path) : 0;
    // Sides that move together never come nearer to one another.
    if (left_step && right_step && *left_step == *right_step) {
      return Refuse(direction, *left, *right);
    }
    if (left_step && *left_step != 0) return Bind(*left, *left_step, *right);
    if (right_step && *right_step != 0) return Bind(*right, *right_step, *left);
    // How the counter moves is not known, but the comparison says where to.
    const bool upwards = direction == hlo::ComparisonDirection::kLt ||
                         direction == hlo::ComparisonDirection::kLe ||
                         direction == hlo::ComparisonDirection::kNe;
    if (!left_step) return Bind(*left, upwards ? 1 : -1, *right);
    if (!right_step) Bind(*right, upwards ? -1 : 1, *left);
  }

  // How much an iteration adds to a leaf of the state; nullopt if that is not a number.
  std::optional<double> StepOf(const TuplePath& path) {
    const ComputationId body = module_.GetComputation(module_[loop_], AttributeKey::kBody);
    if (!body.valid()) return std::nullopt;
    const std::optional<Origin> after = tracer_.Trace(module_[body].root, path);
    if (!after || !after->is_state || after->path != path) return std::nullopt;
    return after->offset;
  }

  // Makes `counter` reach `bound` within kIterations steps.
  void Bind(const Origin& counter, double step, const Origin& bound) {
    const double way = kIterations * step;
    const std::optional<double> begin = InitialValue(counter.path);
    const std::optional<double> end =
        bound.is_state ? InitialValue(bound.path) : std::optional<double>(0);
    if (end) {
      const double limit = *end + bound.offset - counter.offset;
      Ask(counter.path, {std::min(limit - way, limit), std::max(limit - way, limit)});
    } else if (begin) {
      const double first = *begin + counter.offset - bound.offset;
      Ask(bound.path, {std::min(first, first + way), std::max(first, first + way)});
    } else {
      Ask(counter.path, {0, std::abs(way) / 2});
      Ask(bound.path, step > 0 ? Interval{way / 2, way} : Interval{0, 0});
    }
  }

  // The comparison never changes: the loop ends at once or never. Sides of the state that are both
  // open take small numbers.
  void Refuse(hlo::ComparisonDirection direction, const Origin& left, const Origin& right) {
    using enum hlo::ComparisonDirection;
    const bool left_first = direction == kLt || direction == kLe || direction == kEq;
    const bool apart = direction == kLe || direction == kGe || direction == kEq;
    // left - right that makes the comparison false.
    const double distance = !apart ? 0 : left_first ? 1 : -1;
    if (right.is_state)
      Ask(right.path, Interval::Only(left.is_state ? 4 : left.offset - distance - right.offset));
    const double base = right.is_state ? 4 + right.offset : right.offset;
    if (left.is_state) Ask(left.path, Interval::Only(base + distance - left.offset));
  }

  // What a leaf of the state begins with, if that is a number.
  std::optional<double> InitialValue(const TuplePath& path) {
    const std::optional<Origin> origin = tracer_.Trace(module_.operands(loop_)[0], path);
    if (!origin || origin->is_state) return std::nullopt;
    return origin->offset;
  }

  void Ask(const TuplePath& path, const Interval& range) {
    InputConstraints constraints;
    constraints.range = range;
    flow_.Ask(module_.operands(loop_)[0], path, std::move(constraints));
  }

  ConstraintFlow& flow_;
  const Module& module_;
  Tracer tracer_;
  InstructionId loop_;
  std::vector<InstructionId> pending_;
};

}  // namespace

void AskForShortLoops(ConstraintFlow& flow) {
  const auto instructions = flow.module().instructions();
  for (uint32_t i = 0; i < instructions.size(); ++i) {
    if (instructions[i].opcode == Opcode::kWhile) LoopReader(flow, InstructionId(i)).Read();
  }
}

}  // namespace hloscope::replay
