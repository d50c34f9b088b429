// Rules of tuples, loops, reductions and products.
#include <algorithm>
#include <limits>

#include "core/compile/passes/simplify/rules.h"

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

// A list of dimensions of a transpose's result as those of its operand.
std::vector<int64_t> Through(const std::vector<int64_t>& order, std::vector<int64_t> dimensions) {
  for (int64_t& d : dimensions) d = order[static_cast<size_t>(d)];
  return dimensions;
}

// The product on the operand of the transpose in `slot`, where that is as good: one dimension is
// summed up, one at most is left, and the innermost one is one of the two.
InstructionId WithoutTranspose(Edit& edit, InstructionId id, size_t slot, AttributeKey batch_key,
                               AttributeKey contracting_key) {
  const InstructionId operand = edit.operand(id, slot);
  if (edit.opcode(operand) != Opcode::kTranspose) return kNoReplacement;
  const auto order = edit.Ints(operand, AttributeKey::kDimensions);
  const auto batch = edit.Ints(id, batch_key), contracting = edit.Ints(id, contracting_key);
  if (contracting.size() != 1 || order.size() > batch.size() + 2) return kNoReplacement;
  const auto innermost = static_cast<int64_t>(order.size()) - 1;
  if (std::ranges::any_of(Through(order, batch), [&](int64_t d) { return d == innermost; })) {
    return kNoReplacement;
  }
  std::vector<Attribute> attributes;
  for (const Attribute& a : edit.rewriter().attributes(id)) {
    if (a.key == AttributeKey::kSparsity) return kNoReplacement;
    if (a.key != batch_key && a.key != contracting_key && a.key != AttributeKey::kMetadata) {
      attributes.push_back(a);
    }
  }
  hlo::ModuleBuilder& builder = edit.rewriter().builder();
  if (!batch.empty()) attributes.push_back(builder.MakeInts(batch_key, Through(order, batch)));
  attributes.push_back(builder.MakeInts(contracting_key, Through(order, contracting)));
  std::vector<InstructionId> operands = edit.rewriter().operands(id);
  operands[slot] = edit.operand(operand, 0);
  const Shape shape = edit.shape(id);
  return edit.Add(id, "dot", Opcode::kDot, shape, operands, attributes);
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
  using enum AttributeKey;
  const InstructionId dot = edit.operand(id, 0);
  if (edit.opcode(dot) != Opcode::kDot || edit.rewriter().operand_count(dot) != 2 ||
      edit.IsPinned(dot) || !IsReadOnce(edit, dot)) {
    return kNoReplacement;
  }
  const auto batch = edit.Ints(dot, kLhsBatchDims), sums = edit.Ints(dot, kLhsContractingDims);
  const auto rank = static_cast<int64_t>(edit.shape(dot).rank());
  const auto kept = static_cast<int64_t>(batch.size());
  const int64_t left = static_cast<int64_t>(edit.shape(edit.operand(dot, 0)).rank()) - kept -
                       static_cast<int64_t>(sums.size());
  std::vector<int64_t> swapped;
  for (int64_t d = 0; d < kept; ++d) swapped.push_back(d);
  for (int64_t d = kept + left; d < rank; ++d) swapped.push_back(d);
  for (int64_t d = kept; d < kept + left; ++d) swapped.push_back(d);
  if (edit.Ints(id, kDimensions) != swapped) return kNoReplacement;
  std::vector<Attribute> attributes;
  hlo::ModuleBuilder& builder = edit.rewriter().builder();
  for (const Attribute& a : edit.rewriter().attributes(dot)) {
    switch (a.key) {
      case kSparsity:
        return kNoReplacement;
      case kLhsBatchDims:
      case kRhsBatchDims:
      case kLhsContractingDims:
      case kRhsContractingDims:
      case kMetadata:
        break;
      default:
        attributes.push_back(a);
    }
  }
  if (!batch.empty()) {
    attributes.push_back(builder.MakeInts(kLhsBatchDims, edit.Ints(dot, kRhsBatchDims)));
    attributes.push_back(builder.MakeInts(kRhsBatchDims, batch));
  }
  attributes.push_back(builder.MakeInts(kLhsContractingDims, edit.Ints(dot, kRhsContractingDims)));
  attributes.push_back(builder.MakeInts(kRhsContractingDims, sums));
  const Shape shape = edit.shape(id);
  return edit.Add(id, "dot", Opcode::kDot, shape, {edit.operand(dot, 1), edit.operand(dot, 0)},
                  attributes);
}

InstructionId DotOfTransposes(Edit& edit, InstructionId id) {
  using enum AttributeKey;
  const InstructionId left = WithoutTranspose(edit, id, 0, kLhsBatchDims, kLhsContractingDims);
  return left.valid() ? left : WithoutTranspose(edit, id, 1, kRhsBatchDims, kRhsContractingDims);
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

// Over dimensions of one element, from a value that changes nothing.
InstructionId ReduceOfSingles(Edit& edit, InstructionId id) {
  if (edit.rewriter().operand_count(id) != 2) return kNoReplacement;
  const InstructionId operand = edit.operand(id, 0);
  const ComputationId reducer = Called(edit, id, AttributeKey::kToApply);
  if (edit.shape(operand).ElementCount() != edit.shape(id).ElementCount() || !reducer.valid() ||
      edit.shape(operand).element_type() != edit.shape(id).element_type() ||
      !LeavesOperand(edit, reducer, edit.operand(id, 1))) {
    return kNoReplacement;
  }
  const Shape shape = edit.shape(id);
  return edit.Add(id, "reshape", Opcode::kReshape, shape, {operand});
}

InstructionId WhileThatNeverTurns(Edit& edit, InstructionId id) {
  const ComputationId condition = Called(edit, id, AttributeKey::kCondition);
  if (!condition.valid()) return kNoReplacement;
  const auto holds = NumberOf(edit, edit.rewriter().root(condition));
  return holds && holds->integer == 0 ? edit.operand(id, 0) : kNoReplacement;
}

}  // namespace hloscope::compile
