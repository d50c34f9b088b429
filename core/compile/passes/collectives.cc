// Collectives that NCCL has no reduction for, as those that it has and a kernel: all devices get
// everybody's array and reduce them themselves, in the order of the group.
#include "core/compile/passes/collectives.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "core/compile/kernel_rules.h"
#include "core/compile/passes/simplify/rules.h"
#include "core/compile/scalar_computation.h"
#include "core/hlo/analysis/reducer.h"
#include "core/hlo/grouping.h"
#include "core/hlo/opcode_traits.h"
#include "core/hlo/sharding/topology.h"

namespace hloscope::compile {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

// Of a group; each device holds so many arrays at once, which come to so many bytes.
constexpr size_t kMaxMembers = 32;
constexpr int64_t kMaxGathered = int64_t{64} << 20;

// Whether NCCL reduces like that, and as XLA means it: its maximum and minimum of floats drop NaNs,
// and it has neither integers of 16 bits nor floats of 8, nor products of complex numbers.
bool NcclReduces(Opcode opcode, hlo::ElementType type) {
  const bool is_extreme = opcode == Opcode::kMaximum || opcode == Opcode::kMinimum;
  if (type == hlo::ElementType::kPred) {
    return is_extreme || opcode == Opcode::kAnd || opcode == Opcode::kOr;
  }
  const bool is_sum = opcode == Opcode::kAdd, is_product = opcode == Opcode::kMultiply;
  if (hlo::IsComplex(type)) return is_sum;
  if (hlo::IsFloat(type)) return BitWidth(type) >= 16 && (is_sum || is_product);
  return BitWidth(type) != 16 && (is_sum || is_product || is_extreme);
}

// The one instruction that the reducer applies to its parameters.
// All operands are arrays of one type, which the reducer takes and makes, and NCCL does not do it.
bool IsToBeDecomposed(const Module& module, InstructionId id) {
  const auto reducer = module.GetComputation(module[id], AttributeKey::kToApply);
  if (!IsScalarComputation(module, reducer, 1) || module.Parameters(reducer).size() != 2) {
    return false;
  }
  const InstructionId root = module[reducer].root;
  const hlo::ElementType type = module.shape(root).element_type();
  const auto is_of_type = [&](InstructionId of) {
    return module.shape(of).IsArray() && module.shape(of).element_type() == type;
  };
  const auto results = module.shape(id).results();
  const auto operands = module.operands(id);
  if (BitWidth(type) < 8 || results.size() != operands.size() ||
      !std::ranges::all_of(module.Parameters(reducer), is_of_type)) {
    return false;
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!is_of_type(operands[i]) || !IsWholeArray(results[i]) ||
        !SameArray(results[i], module.shape(operands[i]))) {
      return false;
    }
  }
  const auto plain = hlo::BinaryReducerOf(module, id);
  return !plain || !NcclReduces(*plain, type);
}

int64_t BytesOf(const Shape& shape) {
  int64_t bytes = 0;
  for (const Shape& result : shape.results()) bytes += result.ByteSize().value_or(kMaxGathered);
  return bytes;
}

}  // namespace

size_t MembersOf(const Module& module, InstructionId id, const hlo::DeviceCounts& counts,
                 int64_t bytes) {
  const auto groups = hlo::CollectiveGroups(module, id, counts);
  if (!groups.has_value() || groups->empty()) return 0;
  const size_t members = (*groups)[0].size();
  const bool are_alike =
      std::ranges::all_of(*groups, [&](const auto& group) { return group.size() == members; });
  const bool is_small = members <= kMaxMembers &&
                        bytes <= kMaxGathered / static_cast<int64_t>(std::max<size_t>(members, 1));
  return are_alike && is_small ? members : 0;
}

InstructionId GatheredByAll(Edit& edit, InstructionId id, InstructionId own, size_t members,
                            std::vector<Attribute> who) {
  const Shape shape = edit.shape(own);
  std::vector<int64_t> sizes = SizesOf(shape);
  sizes.insert(sizes.begin(), 1);
  const InstructionId one =
      edit.Add(id, "own", Opcode::kReshape, PlainArray(shape.element_type(), sizes), {own});
  sizes[0] = static_cast<int64_t>(members);
  const int64_t first = 0;
  who.push_back(
      edit.rewriter().builder().MakeInts(AttributeKey::kDimensions, std::span(&first, 1)));
  return edit.Add(id, "all-gather", Opcode::kAllGather, PlainArray(shape.element_type(), sizes),
                  {one}, std::move(who));
}

namespace {

// In pairs, in the order of the group, as the evaluator does; from the left where the reducer may
// not be regrouped.
InstructionId GatherAndReduce(Edit& edit, InstructionId id, size_t operand, size_t members) {
  if (members == 1) return edit.operand(id, operand);
  hlo::ModuleBuilder& builder = edit.rewriter().builder();
  const Shape& shape = edit.original().shape(id).results()[operand];
  std::vector<int64_t> sizes = SizesOf(shape);
  const Shape array = PlainArray(shape.element_type(), sizes);
  sizes.insert(sizes.begin(), 1);
  const Shape one = PlainArray(shape.element_type(), sizes);
  std::vector<Attribute> who;
  for (const AttributeKey key : {AttributeKey::kReplicaGroups, AttributeKey::kChannelId,
                                 AttributeKey::kUseGlobalDeviceIds}) {
    if (const Attribute* const a = edit.Find(id, key)) who.push_back(*a);
  }
  const InstructionId all =
      GatheredByAll(edit, id, edit.operand(id, operand), members, std::move(who));
  std::vector<int64_t> dimensions(array.rank());
  std::iota(dimensions.begin(), dimensions.end(), 0);
  const std::vector<Attribute> applied = {
      builder.MakeComputation(
          AttributeKey::kToApply,
          edit.original().GetComputation(edit.original()[id], AttributeKey::kToApply)),
      builder.MakeInts(AttributeKey::kDimensions, dimensions)};
  const auto together = [&](InstructionId left, InstructionId right) {
    return edit.Add(id, "reduced", Opcode::kMap, array, {left, right}, applied);
  };
  std::vector<InstructionId> each;
  for (size_t member = 0; member < members; ++member) {
    std::vector<int64_t> slices = {static_cast<int64_t>(member), static_cast<int64_t>(member) + 1,
                                   1};
    for (const int64_t size : array.dimensions()) slices.insert(slices.end(), {0, size, 1});
    const InstructionId slice = edit.Add(id, "slice", Opcode::kSlice, one, {all},
                                         {builder.MakeInts(AttributeKey::kSlice, slices)});
    each.push_back(edit.Add(id, "array", Opcode::kReshape, array, {slice}));
  }
  if (!hlo::CombinesInAnyGrouping(hlo::BinaryReducerOf(edit.original(), id).value_or(Opcode::kMap),
                                  array.element_type())) {
    for (size_t member = 1; member < members; ++member) each[0] = together(each[0], each[member]);
    return each[0];
  }
  while (each.size() > 1) {
    std::vector<InstructionId> pairs;
    for (size_t i = 0; i + 1 < each.size(); i += 2) pairs.push_back(together(each[i], each[i + 1]));
    if (each.size() % 2 == 1) pairs.push_back(each.back());
    each = std::move(pairs);
  }
  return each[0];
}

}  // namespace

Result<PassResult> DecomposeCollectives(const std::shared_ptr<const Module>& module,
                                        Compilation& out) {
  if (!out.plan_collectives) return PassResult{};
  const hlo::DeviceCounts counts =
      hlo::TopologyOf(*module, std::numeric_limits<int64_t>::max()).counts;
  return EditEach(module, Opcode::kAllReduce, [&](Edit& edit, InstructionId id) {
    const size_t members = IsToBeDecomposed(*module, id)
                               ? MembersOf(*module, id, counts, BytesOf(module->shape(id)))
                               : 0;
    if (members == 0) return;
    std::vector<InstructionId> reduced;
    for (size_t i = 0; i < module->operands(id).size(); ++i) {
      reduced.push_back(GatherAndReduce(edit, id, i, members));
    }
    edit.Replace(id, module->shape(id).IsTuple()
                         ? edit.Add(id, "reduced", Opcode::kTuple, module->shape(id), reduced)
                         : reduced[0]);
  });
}

}  // namespace hloscope::compile
