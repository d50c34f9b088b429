// Collectives that NCCL has no reduction for, as those that it has and a kernel: all devices get
// the arrays of all members and reduce them, or their own part of each, in the order of the group.
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
// A reduce-scatter has a part of each array as its result.
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
    const Shape& operand = module.shape(operands[i]);
    const bool scatters = module[id].opcode == Opcode::kReduceScatter;
    if (!is_of_type(operands[i]) || !IsWholeArray(results[i]) || !IsWholeArray(operand) ||
        (!scatters && !SameArray(results[i], operand))) {
      return false;
    }
  }
  const auto plain = hlo::BinaryReducerOf(module, id);
  return !plain || !NcclReduces(*plain, type);
}

constexpr hlo::ElementType kPosition = hlo::ElementType::kS64;

std::vector<std::byte> BytesOf(int64_t number) {
  const auto bytes = std::as_bytes(std::span(&number, 1));
  return {bytes.begin(), bytes.end()};
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

InstructionId PositionInGroup(Edit& edit, InstructionId id, const hlo::DeviceCounts& counts,
                              const std::vector<std::vector<int64_t>>& groups) {
  std::vector<int64_t> positions(static_cast<size_t>(counts.devices()));
  for (const auto& group : groups) {
    for (size_t i = 0; i < group.size(); ++i) {
      positions[static_cast<size_t>(group[i])] = static_cast<int64_t>(i);
    }
  }
  hlo::ModuleBuilder& builder = edit.rewriter().builder();
  const Shape scalar = Shape::Scalar(kPosition), one = Shape::Array(kPosition, {1});
  const Shape list = Shape::Array(kPosition, {counts.devices()});
  InstructionId device = edit.AddScalar(id, kPosition, BytesOf(0));
  for (const bool of_replica : {true, false}) {
    if ((of_replica ? counts.replicas : counts.partitions) == 1) continue;
    const InstructionId own =
        edit.Add(id, "device", of_replica ? Opcode::kReplicaId : Opcode::kPartitionId,
                 Shape::Scalar(hlo::ElementType::kU32), {});
    InstructionId number = edit.Add(id, "device", Opcode::kConvert, scalar, {own});
    if (of_replica) {
      number = edit.Add(id, "number", Opcode::kMultiply, scalar,
                        {number, edit.AddScalar(id, kPosition, BytesOf(counts.partitions))});
    }
    device = edit.Add(id, "number", Opcode::kAdd, scalar, {device, number});
  }
  const InstructionId all = edit.Add(
      id, "numbers", Opcode::kConstant, list, {},
      {builder.Make(AttributeKey::kConstantValue, hlo::Literal::Of<int64_t>(list, positions))});
  const int64_t size = 1;
  const InstructionId part =
      edit.Add(id, "part", Opcode::kDynamicSlice, one, {all, device},
               {builder.MakeInts(AttributeKey::kDynamicSliceSizes, std::span(&size, 1))});
  return edit.Add(id, "element", Opcode::kReshape, scalar, {part});
}

namespace {

// The reductions of one collective.
class GatherAndReduce {
 public:
  GatherAndReduce(Edit& edit, InstructionId id, const hlo::DeviceCounts& counts, size_t members)
      : edit_(edit), id_(id), counts_(counts), members_(members) {}

  // In pairs, in the order of the group, as the evaluator does; from the left where the reducer may
  // not be regrouped.
  InstructionId Reduced(size_t operand) {
    const Shape& shape = edit_.original().shape(id_).results()[operand];
    const Shape array = PlainArray(shape.element_type(), SizesOf(shape));
    if (members_ == 1) return edit_.operand(id_, operand);
    std::vector<InstructionId> each = Arrays(operand, array);
    const auto reducer = hlo::BinaryReducerOf(edit_.original(), id_);
    if (!hlo::CombinesInAnyGrouping(reducer.value_or(Opcode::kMap), array.element_type())) {
      for (size_t member = 1; member < members_; ++member) {
        each[0] = Together(array, each[0], each[member]);
      }
      return each[0];
    }
    while (each.size() > 1) {
      std::vector<InstructionId> pairs;
      for (size_t i = 0; i + 1 < each.size(); i += 2) {
        pairs.push_back(Together(array, each[i], each[i + 1]));
      }
      if (each.size() % 2 == 1) pairs.push_back(each.back());
      each = std::move(pairs);
    }
    return each[0];
  }

 private:
  hlo::ModuleBuilder& builder() { return edit_.rewriter().builder(); }

  // What each member has of the result's array.
  std::vector<InstructionId> Arrays(size_t operand, const Shape& array) {
    std::vector<Attribute> who;
    for (const AttributeKey key : {AttributeKey::kReplicaGroups, AttributeKey::kChannelId,
                                   AttributeKey::kUseGlobalDeviceIds}) {
      if (const Attribute* const a = edit_.Find(id_, key)) who.push_back(*a);
    }
    InstructionId all =
        GatheredByAll(edit_, id_, edit_.operand(id_, operand), members_, std::move(who));
    if (edit_.opcode(id_) == Opcode::kReduceScatter) all = OwnPart(all, array);
    std::vector<int64_t> sizes = SizesOf(array);
    sizes.insert(sizes.begin(), 1);
    const Shape one = PlainArray(array.element_type(), sizes);
    std::vector<InstructionId> each;
    for (size_t member = 0; member < members_; ++member) {
      std::vector<int64_t> slices = {static_cast<int64_t>(member), static_cast<int64_t>(member) + 1,
                                     1};
      for (const int64_t size : array.dimensions()) slices.insert(slices.end(), {0, size, 1});
      const InstructionId slice = edit_.Add(id_, "slice", Opcode::kSlice, one, {all},
                                            {builder().MakeInts(AttributeKey::kSlice, slices)});
      each.push_back(edit_.Add(id_, "array", Opcode::kReshape, array, {slice}));
    }
    return each;
  }

  // Of the arrays of all members, the part that this device gets.
  InstructionId OwnPart(InstructionId all, const Shape& array) {
    const int64_t cut = edit_.Ints(id_, AttributeKey::kDimensions)[0];
    if (!position_.valid()) {
      position_ = PositionInGroup(edit_, id_, counts_,
                                  *hlo::CollectiveGroups(edit_.original(), id_, counts_));
    }
    std::vector<int64_t> sizes = SizesOf(array);
    const InstructionId start = edit_.Add(
        id_, "start", Opcode::kMultiply, Shape::Scalar(kPosition),
        {position_, edit_.AddScalar(id_, kPosition, BytesOf(sizes[static_cast<size_t>(cut)]))});
    const InstructionId zero = edit_.AddScalar(id_, kPosition, BytesOf(0));
    std::vector<InstructionId> operands = {all, zero};
    for (int64_t d = 0; std::cmp_less(d, sizes.size()); ++d) {
      operands.push_back(d == cut ? start : zero);
    }
    sizes.insert(sizes.begin(), static_cast<int64_t>(members_));
    return edit_.Add(id_, "own", Opcode::kDynamicSlice, PlainArray(array.element_type(), sizes),
                     operands, {builder().MakeInts(AttributeKey::kDynamicSliceSizes, sizes)});
  }

  InstructionId Together(const Shape& array, InstructionId left, InstructionId right) {
    std::vector<int64_t> dimensions(array.rank());
    std::iota(dimensions.begin(), dimensions.end(), 0);
    const hlo::ComputationId reducer =
        edit_.original().GetComputation(edit_.original()[id_], AttributeKey::kToApply);
    return edit_.Add(id_, "reduced", Opcode::kMap, array, {left, right},
                     {builder().MakeComputation(AttributeKey::kToApply, reducer),
                      builder().MakeInts(AttributeKey::kDimensions, dimensions)});
  }

  Edit& edit_;
  InstructionId id_;
  const hlo::DeviceCounts& counts_;
  size_t members_;
  InstructionId position_;  // of this device in its group
};

// The result is a part of the operand for each member.
bool IsCutInto(const Module& module, InstructionId id, int64_t members) {
  const auto dimensions = module.GetInts(module[id], AttributeKey::kDimensions);
  const auto results = module.shape(id).results();
  for (size_t i = 0; i < results.size(); ++i) {
    std::vector<int64_t> sizes = SizesOf(results[i]);
    if (dimensions.size() != 1 || dimensions[0] < 0 ||
        std::cmp_greater_equal(dimensions[0], sizes.size())) {
      return false;
    }
    sizes[static_cast<size_t>(dimensions[0])] *= members;
    if (!std::ranges::equal(sizes, module.shape(module.operands(id)[i]).dimensions())) return false;
  }
  return true;
}

void Decompose(Edit& edit, InstructionId id, const hlo::DeviceCounts& counts) {
  const Module& module = edit.original();
  if (!IsToBeDecomposed(module, id)) return;
  int64_t bytes = 0;
  for (const InstructionId operand : module.operands(id)) {
    bytes += module.shape(operand).ByteSize().value_or(kMaxGathered);
  }
  const size_t members = MembersOf(module, id, counts, bytes);
  if (members == 0) return;
  const bool scatters = module[id].opcode == Opcode::kReduceScatter;
  if (scatters && !IsCutInto(module, id, static_cast<int64_t>(members))) return;
  GatherAndReduce collective(edit, id, counts, members);
  std::vector<InstructionId> reduced;
  for (size_t i = 0; i < module.operands(id).size(); ++i) reduced.push_back(collective.Reduced(i));
  edit.Replace(id, module.shape(id).IsTuple()
                       ? edit.Add(id, "reduced", Opcode::kTuple, module.shape(id), reduced)
                       : reduced[0]);
}

}  // namespace

Result<PassResult> DecomposeCollectives(const std::shared_ptr<const Module>& module,
                                        Compilation& out) {
  if (!out.plan_collectives) return PassResult{};
  if (!HasOpcode(*module, Opcode::kAllReduce) && !HasOpcode(*module, Opcode::kReduceScatter)) {
    return PassResult{};
  }
  const hlo::DeviceCounts counts =
      hlo::TopologyOf(*module, std::numeric_limits<int64_t>::max()).counts;
  Edit edit(module);
  edit.ForEachRunning([&](InstructionId id) {
    const Opcode opcode = (*module)[id].opcode;
    if (opcode == Opcode::kAllReduce || opcode == Opcode::kReduceScatter) {
      Decompose(edit, id, counts);
    }
  });
  return edit.Finish();
}

}  // namespace hloscope::compile
