// FoldPartitions: a plugin partitions modules itself and takes no partitioned ones, so partitions
// become replicas.
#include <fmt/format.h>

#include "core/backends/pjrt/adapt_steps.h"
#include "core/base/counted.h"
#include "core/hlo/rewrite/rewriter.h"
#include "core/hlo/sharding/device_groups.h"

namespace hloscope::replay::pjrt {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::DeviceCounts;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

class PartitionFolder {
 public:
  PartitionFolder(AdaptState& state, DeviceCounts counts)
      : state_(state), module_(*state.module), counts_(counts) {}

  Status Run() {
    HLOSCOPE_TRY(FindGroups());
    ReplaceGroups();
    return ReplaceIds();
  }

 private:
  using Groups = std::vector<std::vector<int64_t>>;

  static bool HasPairs(Opcode opcode) {
    return opcode == Opcode::kCollectivePermute || opcode == Opcode::kCollectivePermuteStart;
  }

  Status FindGroups() {
    groups_.resize(module_.instructions().size());
    for (uint32_t k = 0; k < groups_.size(); ++k) {
      const InstructionId id(k);
      if (!hlo::HasFlag(module_[id].opcode, hlo::kFlagCollective)) continue;
      if (HasPairs(module_[id].opcode)) continue;
      HLOSCOPE_ASSIGN_OR_RETURN(groups_[k], hlo::CollectiveGroups(module_, id, counts_));
    }
    return {};
  }

  // Pairs of devices: each pair of ids once for every device on the other axis.
  std::vector<int64_t> DevicePairs(InstructionId id) const {
    const hlo::GroupMode mode = hlo::GroupModeOf(module_, id, counts_);
    const auto pairs = hlo::SourceTargetPairs(module_, id);
    std::vector<int64_t> flat;
    const bool by_partition = mode == hlo::GroupMode::kPartition;
    const bool by_replica = mode == hlo::GroupMode::kReplica;
    const int64_t others = by_partition ? counts_.replicas : by_replica ? counts_.partitions : 1;
    for (const auto& [source, target] : pairs) {
      for (int64_t other = 0; other < others; ++other) {
        for (const int64_t end : {source, target}) {
          flat.push_back(by_partition ? other * counts_.partitions + end
                         : by_replica ? end * counts_.partitions + other
                                      : end);
        }
      }
    }
    return flat;
  }

  void ReplaceGroups() {
    state_.module = EditModule(module_, [&](InstructionId id, InstructionEdit& change) {
      change.Drop(AttributeKey::kSharding);
      if (!hlo::HasFlag(change.opcode, hlo::kFlagCollective)) return;
      change.Drop(AttributeKey::kChannelId);
      change.Drop(AttributeKey::kUseGlobalDeviceIds);
      if (HasPairs(change.opcode)) {
        change.Set(change.builder.MakeInts(AttributeKey::kSourceTargetPairs, DevicePairs(id)));
        return;
      }
      hlo::DeviceList list;
      list.groups = groups_[id.index];
      change.Set(change.builder.Make(AttributeKey::kReplicaGroups, std::move(list)));
    });
  }

  // partition-id is the remainder of the device by the partitions, replica-id the quotient.
  Status ReplaceIds() {
    const std::shared_ptr<const Module> module = state_.module;
    hlo::Rewriter rewriter(module);
    for (uint32_t k = 0; k < module->instructions().size(); ++k) {
      const InstructionId id(k);
      const bool partition = (*module)[id].opcode == Opcode::kPartitionId;
      if (!partition && (*module)[id].opcode != Opcode::kReplicaId) continue;
      const hlo::ComputationId where = (*module)[id].computation;
      const Shape shape = module->shape(id);
      const std::string name(module->name(id));
      const auto partitions = static_cast<uint32_t>(counts_.partitions);
      const Attribute value = rewriter.builder().Make(
          AttributeKey::kConstantValue,
          hlo::Literal::Of<uint32_t>(Shape::Scalar(hlo::ElementType::kU32).WithDefaultLayouts(),
                                     std::span(&partitions, 1)));
      const InstructionId device =
          rewriter.Add(where, name + ".device", Opcode::kReplicaId, shape, {});
      const InstructionId count =
          rewriter.Add(where, name + ".count", Opcode::kConstant, shape, {}, {{value}});
      const InstructionId result =
          rewriter.Add(where, name + ".own", partition ? Opcode::kRemainder : Opcode::kDivide,
                       shape, {{device, count}});
      rewriter.ReplaceAllUses(id, result);
      rewriter.Remove(id);
    }
    HLOSCOPE_ASSIGN_OR_RETURN(hlo::RewriteResult result, rewriter.Finish());
    state_.module = std::move(result.module);
    return {};
  }

  AdaptState& state_;
  const Module& module_;
  DeviceCounts counts_;
  std::vector<Groups> groups_;
};

}  // namespace

Status FoldPartitions(AdaptState& state) {
  Adapted& adapted = state.adapted;
  if (adapted.partitioning.spmd || adapted.counts.partitions == 1) return {};
  const std::shared_ptr<const Module> keep = state.module;
  HLOSCOPE_TRY(PartitionFolder(state, adapted.counts).Run());
  state.Warn(fmt::format("{} run as replicas: the module is already partitioned",
                         Counted(adapted.counts.partitions, "partition")));
  adapted.counts = {adapted.counts.devices(), 1};
  return {};
}

}  // namespace hloscope::replay::pjrt
