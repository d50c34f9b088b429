// The ways back: which operand of an instruction answers for its elements.
#include "core/replay/inputs/constraint_flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/hlo/analysis/async_chain.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::replay {

using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Opcode;
using hlo::Shape;

namespace {

// A constraints settles after a few changes; more would be a chain of ever narrower intervals.
constexpr int kMaxChanges = 8;

const Shape* LeafAt(const Shape& shape, const TuplePath& path) {
  const Shape* leaf = &shape;
  for (int64_t i : path) {
    if (!leaf->IsTuple() || i < 0 || std::cmp_greater_equal(i, leaf->elements().size())) {
      return nullptr;
    }
    leaf = &leaf->elements()[static_cast<size_t>(i)];
  }
  return leaf->IsArray() ? leaf : nullptr;
}

bool IsRowMajor(const Shape& shape) {
  return !shape.has_layout() ||
         std::ranges::is_sorted(shape.layout().minor_to_major, std::ranges::greater());
}

bool SameTail(const Shape& a, const Shape& b, size_t dimensions) {
  if (a.rank() < dimensions || b.rank() < dimensions) return false;
  return std::ranges::equal(a.dimensions().last(dimensions), b.dimensions().last(dimensions));
}

// For an operand with the same elements in the same order under other dimensions.
InputConstraints Reshaped(InputConstraints constraints, const Shape& result, const Shape& operand) {
  const bool matrices = constraints.structure == Structure::kPositiveDefinite ||
                        constraints.structure == Structure::kDominantDiagonal;
  const bool rows = constraints.structure == Structure::kGroupSizes;
  if ((matrices && !SameTail(result, operand, 2)) || (rows && !SameTail(result, operand, 1))) {
    constraints.structure = Structure::kNone;
  }
  return constraints;
}

// For the operand of a transpose: matrices stay what they are if the last two dimensions do.
InputConstraints Transposed(const InputConstraints& constraints,
                            std::span<const int64_t> permutation) {
  InputConstraints loose = constraints.Unordered();
  const size_t rank = permutation.size();
  const auto last = static_cast<int64_t>(rank) - 2;
  const bool matrices = rank >= 2 && permutation[rank - 1] >= last && permutation[rank - 2] >= last;
  if (matrices && constraints.structure != Structure::kGroupSizes)
    loose.structure = constraints.structure;
  return loose;
}

InputConstraints Sliced(const InputConstraints& constraints) {
  InputConstraints loose = constraints.Unordered();
  if (constraints.columns.empty()) loose.sorted = constraints.sorted;
  return loose;
}

InputConstraints OfElements(const InputConstraints& constraints) {
  InputConstraints loose = constraints.Unordered();
  loose.distinct = false;
  return loose;
}

int64_t Product(std::span<const int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) product *= size;
  return product;
}

}  // namespace

ConstraintFlow::ConstraintFlow(const hlo::Module& module) : module_(module), ranges_(module) {
  IndexCallers();
}

void ConstraintFlow::IndexCallers() {
  callers_.resize(module_.computations().size());
  for (uint32_t i = 0; i < module_.instructions().size(); ++i) {
    const InstructionId id(i);
    const hlo::Instruction& instruction = module_[id];
    const auto called = module_.CalledComputations(instruction);
    for (size_t k = 0; k < called.size(); ++k) {
      std::vector<Caller>& callers = callers_[called[k].index];
      static constexpr hlo::OpcodeSet kCalls = {Opcode::kCall, Opcode::kFusion, Opcode::kMap,
                                                Opcode::kAsyncStart};
      if (kCalls.Has(instruction.opcode)) callers.push_back({id});
      if (instruction.opcode == Opcode::kWhile) callers.push_back({id, 0, 0});
      if (instruction.opcode == Opcode::kConditional) {
        callers.push_back({id, 0, static_cast<int64_t>(k) + 1});
      }
    }
  }
}

void ConstraintFlow::Ask(InstructionId id, const TuplePath& path, InputConstraints constraints) {
  if (LeafAt(module_.shape(id), path) == nullptr) return;
  if (path.empty()) {
    const Interval& known = ranges_[id];
    if (known.Inside(constraints.range)) constraints.range = {};
    if (!known.Contains(0)) constraints.nonzero = false;
  }
  if (constraints.empty()) return;
  Position position{id.index, path};
  Asked& asked = asked_[position];
  if (asked.changes >= kMaxChanges) return;
  const InputConstraints before = asked.constraints;
  NoteConflict(id, Tighten(asked.constraints, constraints));
  if (asked.ranges.insert(constraints.range).second) {
    const std::vector<Interval> ranges(asked.ranges.begin(), asked.ranges.end());
    std::string conflict;
    asked.constraints.range = IntersectAll(ranges, conflict);
    NoteConflict(id, conflict);
  }
  if (asked.constraints == before) return;
  ++asked.changes;
  if (asked.waiting) return;
  asked.waiting = true;
  waiting_.insert(std::move(position));
}

// The first time a conflict is met: what it carries back meets it again.
void ConstraintFlow::NoteConflict(InstructionId id, const std::string& conflict) {
  const bool is_known = std::ranges::any_of(
      conflicts_, [&](const std::string& text) { return text.ends_with(conflict); });
  if (conflict.empty() || is_known) return;
  conflicts_.push_back(fmt::format("{}: {}", module_.name(id), conflict));
}

// Users before what they use, so that all that is asked of a value is known when it is carried on,
// in whatever order the users are.
void ConstraintFlow::Settle() {
  while (!waiting_.empty()) {
    const Position position = *std::prev(waiting_.end());
    waiting_.erase(position);
    Asked& asked = asked_[position];
    asked.waiting = false;
    Carry(position, InputConstraints(asked.constraints));
  }
}

const InputConstraints& ConstraintFlow::Of(InstructionId id, const TuplePath& path) const {
  static const InputConstraints kNothing;
  const auto found = asked_.find({id.index, path});
  return found == asked_.end() ? kNothing : found->second.constraints;
}

void ConstraintFlow::Carry(const Position& from, const InputConstraints& constraints) {
  const InstructionId id(from.instruction);
  if (CarryStructure(id, from.path, constraints)) return;
  const Opcode opcode = module_[id].opcode;
  if (opcode == Opcode::kReduce) return CarryReduce(id, from.path, constraints);
  if (opcode == Opcode::kConcatenate) return CarryConcatenate(id, constraints);
  if (opcode == Opcode::kSelect) return CarrySelect(id, constraints);
  if (opcode == Opcode::kSort) {
    const size_t sorted = from.path.empty() ? 0 : static_cast<size_t>(from.path[0]);
    return Ask(module_.operands(id)[sorted], constraints.Unordered());
  }
  if (from.path.empty()) CarryMovement(id, constraints);
}

// Tuples, calls and control: the value itself comes from elsewhere.
bool ConstraintFlow::CarryStructure(InstructionId id, const TuplePath& path,
                                    const InputConstraints& constraints) {
  const hlo::Instruction& instruction = module_[id];
  const auto operands = module_.operands(id);
  TuplePath inner = path;
  switch (instruction.opcode) {
    case Opcode::kGetTupleElement:
      inner.insert(inner.begin(), module_.GetInt(instruction, AttributeKey::kIndex));
      Ask(operands[0], inner, constraints);
      return true;
    case Opcode::kTuple:
      inner.erase(inner.begin());
      Ask(operands[static_cast<size_t>(path[0])], inner, constraints);
      return true;
    case Opcode::kParameter:
      CarryParameter(id, path, constraints);
      return true;
    case Opcode::kCopy:
    case Opcode::kOptimizationBarrier:
    case Opcode::kDomain:
    case Opcode::kAddDependency:
      Ask(operands[0], path, constraints);
      return true;
    case Opcode::kCall:
    case Opcode::kMap:
      CarryRoot(module_.GetComputation(instruction, AttributeKey::kToApply), path, constraints);
      return true;
    case Opcode::kFusion:
      CarryRoot(module_.GetComputation(instruction, AttributeKey::kCalls), path, constraints);
      return true;
    case Opcode::kWhile:
      Ask(operands[0], path, constraints);
      CarryRoot(module_.GetComputation(instruction, AttributeKey::kBody), path, constraints);
      return true;
    case Opcode::kConditional:
      for (ComputationId branch : module_.CalledComputations(instruction)) {
        CarryRoot(branch, path, constraints);
      }
      return true;
    case Opcode::kAsyncDone:
    case Opcode::kCopyDone:
      CarryAsync(id, path, constraints);
      return true;
    default:
      return false;
  }
}

void ConstraintFlow::CarryParameter(InstructionId id, const TuplePath& path,
                                    const InputConstraints& constraints) {
  const int64_t number = module_.GetInt(module_[id], AttributeKey::kParameterNumber);
  for (const Caller& caller : callers_[module_[id].computation.index]) {
    const auto operands = module_.operands(caller.instruction);
    const int64_t slot = caller.only >= 0 ? caller.only : number + caller.shift;
    if (std::cmp_less(slot, operands.size())) {
      Ask(operands[static_cast<size_t>(slot)], path, constraints);
    }
  }
}

void ConstraintFlow::CarryRoot(ComputationId callee, const TuplePath& path,
                               const InputConstraints& constraints) {
  if (callee.valid()) Ask(module_[callee].root, path, constraints);
}

void ConstraintFlow::CarryAsync(InstructionId id, const TuplePath& path,
                                const InputConstraints& constraints) {
  const InstructionId operand = module_.operands(id)[0];
  if (module_[operand].opcode == Opcode::kCopyStart)
    return Ask(module_.operands(operand)[0], constraints);
  const InstructionId start = hlo::AsyncChainsOf(module_).start(id);
  if (!start.valid()) return;
  CarryRoot(module_.GetComputation(module_[start], AttributeKey::kCalls), path, constraints);
}

void ConstraintFlow::CarryMovement(InstructionId id, const InputConstraints& constraints) {
  using enum hlo::Opcode;
  static constexpr hlo::OpcodeSet kReorders = {
      kReverse,           kDynamicSlice,        kGather,          kAllToAll, kAllGather,
      kCollectivePermute, kCollectiveBroadcast, kSetDimensionSize};
  const auto operands = module_.operands(id);
  const Opcode opcode = module_[id].opcode;
  const Shape& shape = module_.shape(id);
  const auto reshaped = [&] { return Reshaped(constraints, shape, module_.shape(operands[0])); };
  if (kReorders.Has(opcode)) return Ask(operands[0], constraints.Unordered());
  if (opcode == kReshape || opcode == kDynamicReshape) return Ask(operands[0], reshaped());
  if (opcode == kBitcast) {
    const Shape& from = module_.shape(operands[0]);
    if (from.element_type() != shape.element_type()) return;
    const bool is_ordered = IsRowMajor(shape) && IsRowMajor(from);
    return Ask(operands[0], is_ordered ? reshaped() : constraints.Unordered());
  }
  if (opcode == kTranspose) {
    const auto order = module_.GetInts(module_[id], AttributeKey::kDimensions);
    return Ask(operands[0], Transposed(constraints, order));
  }
  if (opcode == kBroadcast) {
    const bool repeats = shape.ElementCount() != module_.shape(operands[0]).ElementCount();
    return Ask(operands[0], repeats ? OfElements(constraints) : reshaped());
  }
  if (opcode == kSlice) return Ask(operands[0], Sliced(constraints));
  if (opcode == kDynamicUpdateSlice || opcode == kPad) {
    Ask(operands[0], constraints.Unordered());
    return Ask(operands[1], OfElements(constraints));
  }
  for (size_t slot = 0; slot < operands.size(); ++slot) {
    Ask(operands[slot], AskOfOperand(module_, ranges_, id, slot, constraints));
  }
}

// Index vectors put together from their components keep what is asked of each.
void ConstraintFlow::CarryConcatenate(InstructionId id, const InputConstraints& constraints) {
  const auto dimensions = module_.GetInts(module_[id], AttributeKey::kDimensions);
  const Shape& shape = module_.shape(id);
  if (dimensions.empty()) return;
  const auto d = static_cast<size_t>(dimensions[0]);
  const bool by_component = !constraints.columns.empty() &&
                            std::cmp_equal(constraints.columns.size(), shape.dimension(d)) &&
                            Product(shape.dimensions().subspan(d + 1)) == constraints.inner;
  size_t column = 0;
  for (InstructionId operand : module_.operands(id)) {
    const auto size = static_cast<size_t>(module_.shape(operand).dimension(d));
    if (!by_component || column + size > constraints.columns.size()) {
      Ask(operand, constraints.Unordered());
      continue;
    }
    InputConstraints part = constraints;
    const auto first = constraints.columns.begin() + static_cast<ptrdiff_t>(column);
    part.columns.assign(first, first + static_cast<ptrdiff_t>(size));
    // Vectors differ if their first components do.
    part.distinct = constraints.distinct && column == 0;
    column += size;
    Ask(operand, std::move(part));
  }
}

// Of `select(x < 0, x + n, x)` x alone has to satisfy: the other is never taken then.
void ConstraintFlow::CarrySelect(InstructionId id, const InputConstraints& constraints) {
  const auto operands = module_.operands(id);
  const hlo::Instruction& pred = module_[operands[0]];
  if (pred.opcode == Opcode::kCompare) {
    const auto sides = module_.operands(pred);
    for (size_t slot : {size_t{2}, size_t{1}}) {
      if (std::ranges::find(sides, operands[slot]) != sides.end()) {
        return Ask(operands[slot], constraints);
      }
    }
  }
  Ask(operands[1], constraints);
  Ask(operands[2], constraints);
}

void ConstraintFlow::CarryReduce(InstructionId id, const TuplePath& path,
                                 const InputConstraints& constraints) {
  const auto operands = module_.operands(id);
  const ComputationId reducer = module_.GetComputation(module_[id], AttributeKey::kToApply);
  if (!reducer.valid() || operands.size() != 2 || !path.empty()) return;
  InputConstraints each = OfElements(constraints);
  const Opcode root = module_[module_[reducer].root].opcode;
  if (root == Opcode::kMaximum || root == Opcode::kMinimum) return Ask(operands[0], each);
  if (root != Opcode::kAdd) return;
  const auto results = static_cast<double>(module_.shape(id).ElementCount().value_or(0));
  const auto elements = static_cast<double>(module_.shape(operands[0]).ElementCount().value_or(0));
  if (results == 0 || elements == 0) return;
  each.nonzero = false;
  each.range.high *= results / elements;
  if (each.range.low < 0 || each.range.bounded()) each.range.low *= results / elements;
  Ask(operands[0], each);
}

}  // namespace hloscope::replay
