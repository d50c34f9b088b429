// Collectives that NCCL has no reduction for, as those that it has and a kernel: all devices get
// everybody's array and reduce them themselves, in the order of the group.
#include <algorithm>
#include <limits>

#include "core/compile/kernel_rules.h"
#include "core/compile/passes/edit.h"
#include "core/compile/passes/simplify/rules.h"
#include "core/hlo/opcode_traits.h"
#include "core/hlo/sharding/device_groups.h"
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
constexpr size_t kMostMembers = 32;
constexpr int64_t kMostGathered = int64_t{64} << 20;

// The reduction, where it rounds nothing, so that its order changes no value, and NCCL does not do
// it: its maximum and minimum of floats drop NaNs, and it has neither bitwise operations nor
// integers of 16 bits.
std::optional<Opcode> ReductionOf(const Module& module, InstructionId id) {
  const auto reducer = module.GetComputation(module[id], AttributeKey::kToApply);
  if (!reducer.valid() || !IsWholeArray(module.shape(id)) || module.operands(id).size() != 1 ||
      !SameArray(module.shape(id), module.shape(module.operands(id)[0]))) {
    return std::nullopt;
  }
  const InstructionId root = module[reducer].root;
  const auto operands = module.operands(root);
  const bool takes_both =
      operands.size() == 2 && operands[0] != operands[1] &&
      std::ranges::all_of(operands, [&](InstructionId each) {
        return module[each].opcode == Opcode::kParameter &&
               module.shape(each).element_type() == module.shape(id).element_type();
      });
  if (!takes_both) return std::nullopt;
  const Opcode opcode = module[root].opcode;
  const hlo::ElementType type = module.shape(id).element_type();
  const bool is_extreme = opcode == Opcode::kMaximum || opcode == Opcode::kMinimum;
  const bool is_bitwise = opcode == Opcode::kAnd || opcode == Opcode::kOr || opcode == Opcode::kXor;
  const bool is_known = hlo::IsFloat(type) ? is_extreme
                        : BitWidth(type) == 16
                            ? hlo::IsInteger(type) && HasTrait(opcode, hlo::kTraitAssociative)
                            : is_bitwise && hlo::IsInteger(type);
  return is_known && BitWidth(type) >= 8 ? std::optional(opcode) : std::nullopt;
}

// Members of each group; 0 where groups are of several sizes, of one, or hold too much together.
size_t MembersOf(const Module& module, InstructionId id, const hlo::DeviceCounts& counts) {
  const auto groups = hlo::CollectiveGroups(module, id, counts);
  if (!groups.has_value() || groups->empty()) return 0;
  const size_t members = (*groups)[0].size();
  const bool are_alike =
      std::ranges::all_of(*groups, [&](const auto& group) { return group.size() == members; });
  const bool is_small = members <= kMostMembers &&
                        module.shape(id).ByteSize().value_or(kMostGathered) <=
                            kMostGathered / static_cast<int64_t>(std::max<size_t>(members, 1));
  return are_alike && members > 1 && is_small ? members : 0;
}

}  // namespace

Result<PassResult> DecomposeCollectives(const std::shared_ptr<const Module>& module,
                                        Compilation& out) {
  if (!out.plan_collectives) return PassResult{};
  const hlo::DeviceCounts counts =
      hlo::TopologyOf(*module, std::numeric_limits<int64_t>::max()).counts;
  return EditEach(module, Opcode::kAllReduce, [&](Edit& edit, InstructionId id) {
    const auto reduction = ReductionOf(*module, id);
    const size_t members = reduction ? MembersOf(*module, id, counts) : 0;
    if (members == 0) return;
    hlo::ModuleBuilder& builder = edit.rewriter().builder();
    const hlo::ElementType type = module->shape(id).element_type();
    std::vector<int64_t> sizes = SizesOf(module->shape(id));
    const Shape array = PlainArray(type, sizes);
    sizes.insert(sizes.begin(), 1);
    const Shape one = PlainArray(type, sizes);
    sizes[0] = static_cast<int64_t>(members);
    const int64_t first = 0;
    std::vector<Attribute> attributes = {
        builder.MakeInts(AttributeKey::kDimensions, std::span(&first, 1))};
    for (const AttributeKey key : {AttributeKey::kReplicaGroups, AttributeKey::kChannelId,
                                   AttributeKey::kUseGlobalDeviceIds}) {
      if (const Attribute* const a = edit.Find(id, key)) attributes.push_back(*a);
    }
    const InstructionId own = edit.Add(id, "own", Opcode::kReshape, one, {edit.operand(id, 0)});
    const InstructionId all = edit.Add(id, "all-gather", Opcode::kAllGather,
                                       PlainArray(type, sizes), {own}, std::move(attributes));
    InstructionId reduced;
    for (size_t member = 0; member < members; ++member) {
      std::vector<int64_t> slices = {static_cast<int64_t>(member), static_cast<int64_t>(member) + 1,
                                     1};
      for (const int64_t size : array.dimensions()) slices.insert(slices.end(), {0, size, 1});
      const InstructionId slice = edit.Add(id, "slice", Opcode::kSlice, one, {all},
                                           {builder.MakeInts(AttributeKey::kSlice, slices)});
      const InstructionId each = edit.Add(id, "array", Opcode::kReshape, array, {slice});
      reduced =
          reduced.valid() ? edit.Add(id, "reduced", *reduction, array, {reduced, each}) : each;
    }
    edit.Replace(id, reduced);
  });
}

}  // namespace hloscope::compile
