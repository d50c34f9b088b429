// Nodes through which the devices of a program exchange values: in the entry alone, where every
// device comes by.
#include <vector>

#include "core/debug/reduce/hunt/nodes.h"
#include "core/hlo/sharding.h"

namespace hloscope::debug {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::Opcode;
using hlo::Shape;

namespace {

bool HasDevices(const ProgramMaker& maker, const Draft& draft) {
  return maker.replicas() > 1 && draft.nesting() == 0;
}

// All devices, or those of even and odd numbers.
hlo::DeviceList AnyGroups(ProgramMaker& maker) {
  hlo::DeviceList groups;
  const size_t count = maker.replicas() > 2 && maker.OneIn(2) ? 2 : 1;
  groups.groups.resize(count);
  for (int64_t device = 0; device < maker.replicas(); ++device) {
    groups.groups[static_cast<size_t>(device) % count].push_back(device);
  }
  return groups;
}

std::optional<DraftId> PickFilled(ProgramMaker& maker, const Draft& draft) {
  return maker.Pick(draft, [](const DraftNode& node) {
    return node.shape.IsArray() && node.shape.rank() > 0 &&
           node.shape.ElementCount().value_or(0) > 0;
  });
}

// Of a type that adds, or ands, in any order.
hlo::ComputationId Combines(ProgramMaker& maker, ElementType type) {
  const bool is_logical = type == ElementType::kPred;
  const Opcode opcode = is_logical             ? Opcode::kOr
                        : hlo::IsComplex(type) ? Opcode::kAdd
                        : maker.OneIn(3)       ? Opcode::kMaximum
                                               : Opcode::kAdd;
  return maker.ScalarComputation(opcode, type);
}

}  // namespace

bool AddDeviceNumberNode(ProgramMaker& maker, Draft& draft) {
  if (!HasDevices(maker, draft)) return false;
  const Shape number = Shape::Scalar(ElementType::kU32);
  const Shape converted = Shape::Scalar(maker.AnyType());
  const auto id = draft.Add(Opcode::kReplicaId, {}, {}, &number);
  return id && draft.Add(Opcode::kConvert, {*id}, {}, &converted);
}

bool AddAllReduceNode(ProgramMaker& maker, Draft& draft) {
  const auto a = maker.PickArray(draft);
  if (!HasDevices(maker, draft) || !a) return false;
  hlo::ModuleBuilder& b = maker.builder();
  const hlo::ComputationId with = Combines(maker, draft.shape(*a).element_type());
  return draft
      .Add(Opcode::kAllReduce, {*a},
           {b.Make(AttributeKey::kReplicaGroups, AnyGroups(maker)),
            b.MakeComputation(AttributeKey::kToApply, with)})
      .has_value();
}

// Gathered, or reduced and scattered: a dimension grows or shrinks by the size of a group.
bool AddAllGatherNode(ProgramMaker& maker, Draft& draft) {
  const auto a = PickFilled(maker, draft);
  if (!HasDevices(maker, draft) || !a) return false;
  const hlo::DeviceList groups = AnyGroups(maker);
  Shape result = draft.shape(*a);
  const size_t along = maker.Below(result.rank());
  result.set_dimension(along,
                       result.dimension(along) * static_cast<int64_t>(groups.groups[0].size()));
  hlo::ModuleBuilder& b = maker.builder();
  return draft
      .Add(Opcode::kAllGather, {*a},
           {b.Make(AttributeKey::kReplicaGroups, groups),
            b.MakeInts(AttributeKey::kDimensions, std::vector{static_cast<int64_t>(along)})},
           &result)
      .has_value();
}

bool AddReduceScatterNode(ProgramMaker& maker, Draft& draft) {
  if (!HasDevices(maker, draft)) return false;
  const hlo::DeviceList groups = AnyGroups(maker);
  const auto size = static_cast<int64_t>(groups.groups[0].size());
  Shape operand = Shape::Array(maker.AnyType(), {size * maker.Between(1, 3), maker.AnySize()});
  const DraftId a = maker.PickOrMake(draft, operand);
  Shape result = operand;
  result.set_dimension(0, operand.dimension(0) / size);
  hlo::ModuleBuilder& b = maker.builder();
  const hlo::ComputationId with = Combines(maker, operand.element_type());
  return draft
      .Add(Opcode::kReduceScatter, {a},
           {b.Make(AttributeKey::kReplicaGroups, groups),
            b.MakeInts(AttributeKey::kDimensions, std::vector<int64_t>{0}),
            b.MakeComputation(AttributeKey::kToApply, with)},
           &result)
      .has_value();
}

bool AddAllToAllNode(ProgramMaker& maker, Draft& draft) {
  if (!HasDevices(maker, draft)) return false;
  const hlo::DeviceList groups = AnyGroups(maker);
  const auto size = static_cast<int64_t>(groups.groups[0].size());
  const Shape operand =
      Shape::Array(maker.AnyType(), {size * maker.Between(1, 2), maker.AnySize()});
  const DraftId a = maker.PickOrMake(draft, operand);
  hlo::ModuleBuilder& b = maker.builder();
  return draft
      .Add(Opcode::kAllToAll, {a},
           {b.Make(AttributeKey::kReplicaGroups, groups),
            b.MakeInts(AttributeKey::kDimensions, std::vector<int64_t>{0})},
           &operand)
      .has_value();
}

// To the next device, or to some: the others get zeros.
bool AddCollectivePermuteNode(ProgramMaker& maker, Draft& draft) {
  const auto a = maker.PickArray(draft);
  if (!HasDevices(maker, draft) || !a) return false;
  std::vector<int64_t> pairs;
  const int64_t step = maker.Between(1, maker.replicas() - 1);
  for (int64_t from = 0; from < maker.replicas(); ++from) {
    if (maker.OneIn(4)) continue;
    pairs.push_back(from);
    pairs.push_back((from + step) % maker.replicas());
  }
  return draft
      .Add(Opcode::kCollectivePermute, {*a},
           {maker.builder().MakeInts(AttributeKey::kSourceTargetPairs, pairs)})
      .has_value();
}

}  // namespace hloscope::debug
