// Rules of tuples, loops, reductions and products.
#include <algorithm>
#include <array>
#include <limits>

#include "core/compile/passes/simplify/rules.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::compile {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Opcode;
using hlo::Shape;

namespace {

ComputationId Called(Edit& edit, InstructionId id, AttributeKey key) {
  const Attribute* a = edit.Find(id, key);
  return a == nullptr ? ComputationId() : ComputationId(a->value);
}

// The opcode of a reducer that is one instruction on its two parameters, and what leaves the other
// operand as it is: of floats, of integers.
struct Identity {
  Opcode opcode;
  double of_float, of_integer;
};
constexpr double kNoIdentity = std::numeric_limits<double>::quiet_NaN();
constexpr Identity kIdentities[] = {
    {Opcode::kAdd, -0.0, 0},
    {Opcode::kMultiply, 1, 1},
    {Opcode::kMaximum, -std::numeric_limits<double>::infinity(), kNoIdentity},
    {Opcode::kMinimum, std::numeric_limits<double>::infinity(), kNoIdentity},
    {Opcode::kOr, kNoIdentity, 0},
};

bool LeavesOperand(Edit& edit, ComputationId reducer, InstructionId initial) {
  const InstructionId root = edit.rewriter().root(reducer);
  if (edit.rewriter().operand_count(root) != 2) return false;
  const InstructionId a = edit.operand(root, 0), b = edit.operand(root, 1);
  if (a == b || edit.opcode(a) != Opcode::kParameter || edit.opcode(b) != Opcode::kParameter) {
    return false;
  }
  const auto type = edit.shape(initial).element_type();
  if (IsComplex(type) || edit.shape(root).element_type() != type ||
      edit.shape(a).element_type() != type) {
    return false;
  }
  return std::ranges::any_of(kIdentities, [&](const Identity& row) {
    return row.opcode == edit.opcode(root) &&
           IsAll(edit, initial, IsFloat(type) ? row.of_float : row.of_integer);
  });
}

// The dimension numbers of a dot as lists of their own, by side.
struct OwnDotDims {
  OwnDotDims(Edit& edit, InstructionId dot) {
    const hlo::DotDims dims = hlo::DotDimsOf(edit.values(), edit.rewriter().attributes(dot));
    for (size_t side = 0; side < 2; ++side) {
      const auto& [each_batch, sums, group] = dims.side(side);
      batch[side].assign(each_batch.begin(), each_batch.end());
      contracting[side].assign(sums.begin(), sums.end());
    }
  }
  hlo::DotDims view() const { return {{batch[0], contracting[0]}, {batch[1], contracting[1]}}; }

  std::vector<int64_t> batch[2], contracting[2];
};

// A list of dimensions of a transpose's result as those of its operand.
std::vector<int64_t> Through(const std::vector<int64_t>& order, std::vector<int64_t> dimensions) {
  for (int64_t& d : dimensions) d = order[static_cast<size_t>(d)];
  return dimensions;
}

// The attributes of a dot with other dimension numbers and without metadata; nullopt where operands
// are sparse.
std::optional<std::vector<Attribute>> WithDims(Edit& edit, InstructionId dot,
                                               const hlo::DotDims& dims) {
  std::vector<Attribute> attributes = hlo::MakeDotDims(edit.rewriter().builder(), dims);
  for (const Attribute& a : edit.rewriter().attributes(dot)) {
    if (a.key == AttributeKey::kSparsity) return std::nullopt;
    const bool is_there = std::ranges::count(attributes, a.key, &Attribute::key) > 0;
    if (!is_there && a.key != AttributeKey::kMetadata) attributes.push_back(a);
  }
  return attributes;
}

// The product on the operand of the transpose in `slot`, where that is as good: one dimension is
// summed up, one at most is left, and the innermost one is one of the two.
InstructionId WithoutTranspose(Edit& edit, InstructionId id, size_t slot) {
  const InstructionId operand = edit.operand(id, slot);
  if (edit.opcode(operand) != Opcode::kTranspose) return kNoReplacement;
  const auto order = edit.Ints(operand, AttributeKey::kDimensions);
  OwnDotDims dims(edit, id);
  auto &batch = dims.batch[slot], &contracting = dims.contracting[slot];
  if (contracting.size() != 1 || order.size() > batch.size() + 2) return kNoReplacement;
  const auto innermost = static_cast<int64_t>(order.size()) - 1;
  batch = Through(order, batch);
  contracting = Through(order, contracting);
  if (std::ranges::count(batch, innermost) > 0) return kNoReplacement;
  const auto attributes = WithDims(edit, id, dims.view());
  if (!attributes) return kNoReplacement;
  std::vector<InstructionId> operands = edit.rewriter().operands(id);
  operands[slot] = edit.operand(operand, 0);
  const Shape shape = edit.shape(id);
  return edit.Add(id, "dot", Opcode::kDot, shape, operands, *attributes);
}

// True if one instruction alone reads it in the module as it was given.
bool IsReadOnce(const Edit& edit, InstructionId id) {
  const hlo::Module& module = edit.original();
  if (id.index >= module.instructions().size()) return false;
  const hlo::Computation& computation = module[module[id].computation];
  int64_t reads = computation.root == id ? 2 : 0;
  for (uint32_t k = 0; k < computation.instruction_count && reads < 2; ++k) {
    const InstructionId each(computation.first_instruction + k);
    reads += std::ranges::count(module.operands(each), id);
  }
  return reads == 1;
}

}  // namespace

// The free dimensions of both sides in the other order: the sides change places.
InstructionId TransposeOfDot(Edit& edit, InstructionId id) {
  const InstructionId dot = edit.operand(id, 0);
  if (edit.opcode(dot) != Opcode::kDot || edit.rewriter().operand_count(dot) != 2 ||
      edit.IsPinned(dot) || !IsReadOnce(edit, dot)) {
    return kNoReplacement;
  }
  OwnDotDims dims(edit, dot);
  const auto rank = static_cast<int64_t>(edit.shape(dot).rank());
  const auto kept = static_cast<int64_t>(dims.batch[0].size());
  const int64_t left = static_cast<int64_t>(edit.shape(edit.operand(dot, 0)).rank()) - kept -
                       static_cast<int64_t>(dims.contracting[0].size());
  std::vector<int64_t> swapped;
  for (int64_t d = 0; d < kept; ++d) swapped.push_back(d);
  for (int64_t d = kept + left; d < rank; ++d) swapped.push_back(d);
  for (int64_t d = kept; d < kept + left; ++d) swapped.push_back(d);
  if (edit.Ints(id, AttributeKey::kDimensions) != swapped) return kNoReplacement;
  std::swap(dims.batch[0], dims.batch[1]);
  std::swap(dims.contracting[0], dims.contracting[1]);
  const auto attributes = WithDims(edit, dot, dims.view());
  if (!attributes) return kNoReplacement;
  const Shape shape = edit.shape(id);
  return edit.Add(id, "dot", Opcode::kDot, shape, {edit.operand(dot, 1), edit.operand(dot, 0)},
                  *attributes);
}

InstructionId DotOfTransposes(Edit& edit, InstructionId id) {
  const InstructionId left = WithoutTranspose(edit, id, 0);
  return left.valid() ? left : WithoutTranspose(edit, id, 1);
}

InstructionId ElementOfTuple(Edit& edit, InstructionId id) {
  const InstructionId tuple = edit.operand(id, 0);
  if (edit.opcode(tuple) != Opcode::kTuple) return kNoReplacement;
  return edit.operand(tuple, static_cast<size_t>(edit.Int(id, AttributeKey::kIndex)));
}

// All elements of another tuple, in order.
InstructionId TupleOfElements(Edit& edit, InstructionId id) {
  const size_t count = edit.rewriter().operand_count(id);
  InstructionId from;
  for (size_t k = 0; k < count; ++k) {
    const InstructionId element = edit.operand(id, k);
    if (edit.opcode(element) != Opcode::kGetTupleElement ||
        std::cmp_not_equal(edit.Int(element, AttributeKey::kIndex), k)) {
      return kNoReplacement;
    }
    if (k == 0) from = edit.operand(element, 0);
    if (edit.operand(element, 0) != from) return kNoReplacement;
  }
  return from.valid() && edit.shape(from).elements().size() == count ? from : kNoReplacement;
}

namespace {

// Whether a reducer is one elementwise operation of its two parameters, all of `type`.
bool IsOneOperation(Edit& edit, ComputationId reducer, hlo::ElementType type) {
  const InstructionId root = edit.rewriter().root(reducer);
  if (edit.rewriter().operand_count(root) != 2 || edit.shape(root).element_type() != type ||
      Info(edit.opcode(root)).category != hlo::Category::kElementwise ||
      edit.opcode(root) == Opcode::kCompare) {
    return false;
  }
  const InstructionId a = edit.operand(root, 0), b = edit.operand(root, 1);
  const auto is_parameter = [&](InstructionId each) {
    return edit.opcode(each) == Opcode::kParameter && edit.shape(each).element_type() == type;
  };
  return a != b && is_parameter(a) && is_parameter(b);
}

}  // namespace

// Over dimensions of one element, from a value that changes nothing, or by one operation, which is
// then done once: 0 + -0 is not -0.
InstructionId ReduceOfSingles(Edit& edit, InstructionId id) {
  if (edit.rewriter().operand_count(id) != 2) return kNoReplacement;
  const InstructionId operand = edit.operand(id, 0);
  const ComputationId reducer = Called(edit, id, AttributeKey::kToApply);
  if (edit.shape(operand).ElementCount() != edit.shape(id).ElementCount() || !reducer.valid() ||
      edit.shape(operand).element_type() != edit.shape(id).element_type()) {
    return kNoReplacement;
  }
  const Shape shape = edit.shape(id);
  const InstructionId initial = edit.operand(id, 1);
  const bool leaves_operand = LeavesOperand(edit, reducer, initial);
  if (!leaves_operand && (edit.shape(initial).element_type() != shape.element_type() ||
                          !IsOneOperation(edit, reducer, shape.element_type()))) {
    return kNoReplacement;
  }
  const InstructionId single = edit.Add(id, "reshape", Opcode::kReshape, shape, {operand});
  if (leaves_operand) return single;
  const InstructionId root = edit.rewriter().root(reducer);
  const bool is_initial_first =
      edit.Int(edit.operand(root, 0), AttributeKey::kParameterNumber) == 0;
  const InstructionId all =
      WithInts(edit, id, Opcode::kBroadcast, shape, initial, AttributeKey::kDimensions, {});
  const std::array<InstructionId, 2> in_order = {is_initial_first ? all : single,
                                                 is_initial_first ? single : all};
  return edit.Add(id, "reduced", edit.opcode(root), shape, in_order);
}

InstructionId WhileThatNeverTurns(Edit& edit, InstructionId id) {
  const ComputationId condition = Called(edit, id, AttributeKey::kCondition);
  if (!condition.valid()) return kNoReplacement;
  const auto holds = NumberOf(edit, edit.rewriter().root(condition));
  return holds && holds->integer == 0 ? edit.operand(id, 0) : kNoReplacement;
}

}  // namespace hloscope::compile
