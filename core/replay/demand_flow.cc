// The ways back: which operand of an instruction answers for its elements.
#include "core/replay/demand_flow.h"

#include <fmt/format.h>

#include <algorithm>

namespace hloscope::replay {

using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Opcode;
using hlo::Shape;

namespace {

// A demand settles after a few changes; more would be a chain of ever narrower intervals.
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
Demand Reshaped(Demand demand, const Shape& result, const Shape& operand) {
  const bool matrices = demand.structure == Structure::kPositiveDefinite ||
                        demand.structure == Structure::kDominantDiagonal;
  const bool rows = demand.structure == Structure::kGroupSizes;
  if ((matrices && !SameTail(result, operand, 2)) || (rows && !SameTail(result, operand, 1))) {
    demand.structure = Structure::kNone;
  }
  return demand;
}

// For the operand of a transpose: matrices stay what they are if the last two dimensions do.
Demand Transposed(const Demand& demand, std::span<const int64_t> permutation) {
  Demand loose = demand.Unordered();
  const size_t rank = permutation.size();
  const auto last = static_cast<int64_t>(rank) - 2;
  const bool matrices = rank >= 2 && permutation[rank - 1] >= last && permutation[rank - 2] >= last;
  if (matrices && demand.structure != Structure::kGroupSizes) loose.structure = demand.structure;
  return loose;
}

Demand Sliced(const Demand& demand) {
  Demand loose = demand.Unordered();
  if (demand.columns.empty()) loose.sorted = demand.sorted;
  return loose;
}

Demand OfElements(const Demand& demand) {
  Demand loose = demand.Unordered();
  loose.distinct = false;
  return loose;
}

int64_t Product(std::span<const int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) product *= size;
  return product;
}

}  // namespace

DemandFlow::DemandFlow(const hlo::Module& module) : module_(module), ranges_(module) {
  IndexCallers();
}

void DemandFlow::IndexCallers() {
  callers_.resize(module_.computations().size());
  for (uint32_t i = 0; i < module_.instructions().size(); ++i) {
    const InstructionId id(i);
    const hlo::Instruction& instruction = module_[id];
    const auto called = module_.CalledComputations(instruction);
    for (size_t k = 0; k < called.size(); ++k) {
      std::vector<Caller>& callers = callers_[called[k].index];
      switch (instruction.opcode) {
        case Opcode::kCall:
        case Opcode::kFusion:
        case Opcode::kMap:
        case Opcode::kAsyncStart:
          callers.push_back({id});
          break;
        case Opcode::kWhile:
          callers.push_back({id, 0, 0});
          break;
        case Opcode::kConditional:
          callers.push_back({id, 0, static_cast<int64_t>(k) + 1});
          break;
        default:
          break;
      }
    }
  }
}

void DemandFlow::Ask(InstructionId id, const TuplePath& path, Demand demand) {
  if (LeafAt(module_.shape(id), path) == nullptr) return;
  if (path.empty()) {
    const Interval& known = ranges_[id];
    if (known.Inside(demand.range)) demand.range = {};
    if (!known.Contains(0)) demand.nonzero = false;
  }
  if (demand.empty()) return;
  Position position{id.index, path};
  Asked& asked = asked_[position];
  if (asked.changes >= kMaxChanges) return;
  const Demand before = asked.demand;
  const std::string conflict = Tighten(asked.demand, demand);
  if (!conflict.empty()) {
    const bool known = std::ranges::any_of(
        conflicts_, [&](const std::string& text) { return text.ends_with(conflict); });
    if (!known) conflicts_.push_back(fmt::format("{}: {}", module_.name(id), conflict));
  }
  if (asked.demand == before) return;
  ++asked.changes;
  if (asked.waiting) return;
  asked.waiting = true;
  waiting_.push_back(std::move(position));
}

void DemandFlow::Settle() {
  while (!waiting_.empty()) {
    const Position position = std::move(waiting_.back());
    waiting_.pop_back();
    Asked& asked = asked_[position];
    asked.waiting = false;
    Carry(position, Demand(asked.demand));
  }
}

const Demand& DemandFlow::Of(InstructionId id, const TuplePath& path) const {
  static const Demand kNothing;
  const auto found = asked_.find({id.index, path});
  return found == asked_.end() ? kNothing : found->second.demand;
}

void DemandFlow::Carry(const Position& from, const Demand& demand) {
  const InstructionId id(from.instruction);
  if (CarryStructure(id, from.path, demand)) return;
  switch (module_[id].opcode) {
    case Opcode::kSort:
      return Ask(module_.operands(id)[from.path.empty() ? 0 : static_cast<size_t>(from.path[0])],
                 demand.Unordered());
    case Opcode::kReduce:
      return CarryReduce(id, from.path, demand);
    case Opcode::kConcatenate:
      return CarryConcatenate(id, demand);
    case Opcode::kSelect:
      return CarrySelect(id, demand);
    default:
      if (from.path.empty()) CarryMovement(id, demand);
  }
}

// Tuples, calls and control: the value itself comes from elsewhere.
bool DemandFlow::CarryStructure(InstructionId id, const TuplePath& path, const Demand& demand) {
  const hlo::Instruction& instruction = module_[id];
  const auto operands = module_.operands(id);
  TuplePath inner = path;
  switch (instruction.opcode) {
    case Opcode::kGetTupleElement:
      inner.insert(inner.begin(), module_.GetInt(instruction, AttributeKey::kIndex));
      Ask(operands[0], inner, demand);
      return true;
    case Opcode::kTuple:
      inner.erase(inner.begin());
      Ask(operands[static_cast<size_t>(path[0])], inner, demand);
      return true;
    case Opcode::kParameter:
      CarryParameter(id, path, demand);
      return true;
    case Opcode::kCopy:
    case Opcode::kOptimizationBarrier:
    case Opcode::kDomain:
    case Opcode::kAddDependency:
      Ask(operands[0], path, demand);
      return true;
    case Opcode::kCall:
    case Opcode::kMap:
      CarryRoot(module_.GetComputation(instruction, AttributeKey::kToApply), path, demand);
      return true;
    case Opcode::kFusion:
      CarryRoot(module_.GetComputation(instruction, AttributeKey::kCalls), path, demand);
      return true;
    case Opcode::kWhile:
      Ask(operands[0], path, demand);
      CarryRoot(module_.GetComputation(instruction, AttributeKey::kBody), path, demand);
      return true;
    case Opcode::kConditional:
      for (ComputationId branch : module_.CalledComputations(instruction)) {
        CarryRoot(branch, path, demand);
      }
      return true;
    case Opcode::kAsyncDone:
    case Opcode::kCopyDone:
      CarryAsync(id, path, demand);
      return true;
    default:
      return false;
  }
}

void DemandFlow::CarryParameter(InstructionId id, const TuplePath& path, const Demand& demand) {
  const int64_t number = module_.GetInt(module_[id], AttributeKey::kParameterNumber);
  for (const Caller& caller : callers_[module_[id].computation.index]) {
    const auto operands = module_.operands(caller.instruction);
    const int64_t slot = caller.only >= 0 ? caller.only : number + caller.shift;
    if (std::cmp_less(slot, operands.size())) {
      Ask(operands[static_cast<size_t>(slot)], path, demand);
    }
  }
}

void DemandFlow::CarryRoot(ComputationId callee, const TuplePath& path, const Demand& demand) {
  if (callee.valid()) Ask(module_[callee].root, path, demand);
}

void DemandFlow::CarryAsync(InstructionId id, const TuplePath& path, const Demand& demand) {
  InstructionId start = module_.operands(id)[0];
  while (module_[start].opcode == Opcode::kAsyncUpdate) start = module_.operands(start)[0];
  if (module_[start].opcode == Opcode::kCopyStart) return Ask(module_.operands(start)[0], demand);
  if (module_[start].opcode != Opcode::kAsyncStart) return;
  CarryRoot(module_.GetComputation(module_[start], AttributeKey::kCalls), path, demand);
}

void DemandFlow::CarryMovement(InstructionId id, const Demand& demand) {
  const auto operands = module_.operands(id);
  const Shape& shape = module_.shape(id);
  auto operand_shape = [&] { return module_.shape(operands[0]); };
  switch (module_[id].opcode) {
    case Opcode::kReshape:
    case Opcode::kDynamicReshape:
      return Ask(operands[0], Reshaped(demand, shape, operand_shape()));
    case Opcode::kBitcast:
      if (operand_shape().element_type() != shape.element_type()) return;
      if (!IsRowMajor(shape) || !IsRowMajor(operand_shape())) {
        return Ask(operands[0], demand.Unordered());
      }
      return Ask(operands[0], Reshaped(demand, shape, operand_shape()));
    case Opcode::kTranspose:
      return Ask(operands[0],
                 Transposed(demand, module_.GetInts(module_[id], AttributeKey::kDimensions)));
    case Opcode::kBroadcast:
      if (shape.ElementCount() == operand_shape().ElementCount()) {
        return Ask(operands[0], Reshaped(demand, shape, operand_shape()));
      }
      return Ask(operands[0], OfElements(demand));
    case Opcode::kSlice:
      return Ask(operands[0], Sliced(demand));
    case Opcode::kReverse:
    case Opcode::kDynamicSlice:
    case Opcode::kGather:
    case Opcode::kAllToAll:
    case Opcode::kAllGather:
    case Opcode::kCollectivePermute:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kSetDimensionSize:
      return Ask(operands[0], demand.Unordered());
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kPad:
      Ask(operands[0], demand.Unordered());
      return Ask(operands[1], OfElements(demand));
    default:
      for (size_t slot = 0; slot < operands.size(); ++slot) {
        Ask(operands[slot], AskOfOperand(module_, ranges_, id, slot, demand));
      }
  }
}

// Index vectors put together from their components keep what is asked of each.
void DemandFlow::CarryConcatenate(InstructionId id, const Demand& demand) {
  const auto dimensions = module_.GetInts(module_[id], AttributeKey::kDimensions);
  const Shape& shape = module_.shape(id);
  if (dimensions.empty()) return;
  const auto d = static_cast<size_t>(dimensions[0]);
  const bool by_component = !demand.columns.empty() &&
                            std::cmp_equal(demand.columns.size(), shape.dimension(d)) &&
                            Product(shape.dimensions().subspan(d + 1)) == demand.inner;
  size_t column = 0;
  for (InstructionId operand : module_.operands(id)) {
    const auto size = static_cast<size_t>(module_.shape(operand).dimension(d));
    if (!by_component || column + size > demand.columns.size()) {
      Ask(operand, demand.Unordered());
      continue;
    }
    Demand part = demand;
    const auto first = demand.columns.begin() + static_cast<ptrdiff_t>(column);
    part.columns.assign(first, first + static_cast<ptrdiff_t>(size));
    // Vectors differ if their first components do.
    part.distinct = demand.distinct && column == 0;
    column += size;
    Ask(operand, std::move(part));
  }
}

// Of `select(x < 0, x + n, x)` x alone has to satisfy: the other is never taken then.
void DemandFlow::CarrySelect(InstructionId id, const Demand& demand) {
  const auto operands = module_.operands(id);
  const hlo::Instruction& pred = module_[operands[0]];
  if (pred.opcode == Opcode::kCompare) {
    const auto sides = module_.operands(pred);
    for (size_t slot : {size_t{2}, size_t{1}}) {
      if (std::ranges::find(sides, operands[slot]) != sides.end()) {
        return Ask(operands[slot], demand);
      }
    }
  }
  Ask(operands[1], demand);
  Ask(operands[2], demand);
}

void DemandFlow::CarryReduce(InstructionId id, const TuplePath& path, const Demand& demand) {
  const auto operands = module_.operands(id);
  const ComputationId reducer = module_.GetComputation(module_[id], AttributeKey::kToApply);
  if (!reducer.valid() || operands.size() != 2 || !path.empty()) return;
  Demand each = OfElements(demand);
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
