// Topology from the header and from what instructions say about devices.
#include "core/hlo/sharding/topology.h"

#include <algorithm>

#include "core/base/checked.h"
#include "core/base/counted.h"
#include "core/hlo/opcode_traits.h"
#include "core/hlo/sharding/manual_region.h"

namespace hloscope::hlo {
namespace {

std::string_view TargetOf(const Module& module, const Instruction& instruction) {
  if (instruction.opcode != Opcode::kCustomCall) return {};
  return module.GetString(instruction, AttributeKey::kCustomCallTarget);
}

// Notes to the partitioner, which it removes.
bool IsPartitionerAnnotation(std::string_view target) {
  return target == "Sharding" || target == kFullToShard || target == kShardToFull ||
         target.starts_with("xla.sdy.");
}

// How many devices a sharding is for; 0 where it does not say.
int64_t DevicesOf(const Sharding& sharding) {
  if (sharding.kind == ShardingKind::kTiled) return DeviceCount(sharding.tiles).value_or(0);
  if (sharding.kind == ShardingKind::kNamed) return DeviceCount(sharding.mesh).value_or(0);
  int64_t most = 0;
  for (const Sharding& element : sharding.elements) most = std::max(most, DevicesOf(element));
  return most;
}

// The entry as the partitioner calls what it made: "main.0_spmd". Shardings of its instructions are
// left until the partitioner has cleaned up.
bool IsNamedAsPartitioned(const Module& module) {
  std::string_view name = module[module.entry().name];
  const size_t number = name.find_last_not_of("0123456789");
  if (number != std::string_view::npos && name[number] == '.') name = name.substr(0, number);
  return name.ends_with("_spmd");
}

// What the instructions of a module need and show.
class Survey {
 public:
  explicit Survey(const Module& module) : module_(module) {
    for (size_t i = 0; i < module.instructions().size(); ++i) Look(InstructionId(i));
    for (const FrontendAttribute& entry : module.header().frontend_attributes.entries) {
      partitioner_note |= module[entry.key] == "xla.sdy.meshes";
    }
    partitioner_note |= AreValuesOwn(module);
  }

  DeviceCounts Needed() const {
    DeviceCounts counts{replicas, partitions};
    if (counts.devices() >= flattened) return counts;
    if (flattened % counts.replicas == 0 && flattened / counts.replicas >= counts.partitions) {
      return {counts.replicas, flattened / counts.replicas};
    }
    return {1, std::max(flattened, counts.partitions)};
  }

  int64_t replicas = 1, partitions = 1, flattened = 1;
  bool partitioner_note = false;
  bool has_shardings = false;  // of what is no parameter
  bool device_work = false;

 private:
  void Look(InstructionId id) {
    const Instruction& instruction = module_[id];
    partitioner_note |= IsPartitionerAnnotation(TargetOf(module_, instruction));
    device_work |= IsDeviceWork(module_, id);
    const auto* sharding = module_.Get<Sharding>(instruction, AttributeKey::kSharding);
    if (sharding != nullptr) {
      partitions = std::max(partitions, DevicesOf(*sharding));
      has_shardings |= DevicesOf(*sharding) > 1 && instruction.opcode != Opcode::kParameter;
    }
    if (IsManualBorder(module_, id)) {
      for (const Sharding& whole : ManualShardings(module_, id).value_or(std::vector<Sharding>())) {
        partitions = std::max(partitions, DevicesOf(whole));
      }
    }
    const bool groups = module_.Find(instruction, AttributeKey::kReplicaGroups) != nullptr;
    if (!groups && SourceTargetPairs(module_, id).empty()) return;
    const int64_t ids = std::max(LargestId(module_, id) + 1, PiecesOf(id));
    switch (GroupModeOf(module_, id, {1, 2})) {
      case GroupMode::kPartition:
        partitions = std::max(partitions, ids);
        break;
      case GroupMode::kFlattened:
        flattened = std::max(flattened, ids);
        break;
      default:
        replicas = std::max(replicas, ids);
    }
  }

  // Without groups, the shapes of gathering and scattering say how many devices there are.
  int64_t PiecesOf(InstructionId id) const {
    const Instruction& instruction = module_[id];
    const auto dimensions = module_.GetInts(instruction, AttributeKey::kDimensions);
    const bool gathers = instruction.opcode == Opcode::kAllGather;
    if (dimensions.empty() || (!gathers && instruction.opcode != Opcode::kReduceScatter)) return 1;
    const Shape& operand = module_.shape(module_.operands(instruction)[0]);
    const Shape& result = module_.shape(id);
    const auto d = static_cast<size_t>(dimensions[0]);
    if (!operand.IsArray() || !result.IsArray() || d >= operand.rank() || d >= result.rank()) {
      return 1;
    }
    const int64_t large = (gathers ? result : operand).dimension(d);
    const int64_t small = (gathers ? operand : result).dimension(d);
    return small > 0 && LargestId(module_, id) < 0 ? large / small : 1;
  }

  const Module& module_;
};

}  // namespace

bool IsDeviceWork(const Module& module, InstructionId id) {
  const Instruction& instruction = module[id];
  return HasTrait(instruction.opcode, kTraitOwnDevice) ||
         HasFlag(instruction.opcode, kFlagCollective) || IsManualBorder(module, id);
}

Topology TopologyOf(const Module& module, int64_t limit) {
  const ModuleHeader& header = module.header();
  const Survey survey(module);
  Topology topology;
  topology.counts = {std::max<int64_t>(header.replica_count, 1),
                     std::max<int64_t>(header.num_partitions, 1)};
  topology.has_device_work = survey.device_work;
  const DeviceCounts needed = survey.Needed();
  const auto devices = CheckedMul(needed.replicas, needed.partitions);
  const bool says_one = header.replica_count == 1 && header.num_partitions == 1;
  if (says_one && survey.device_work && devices && *devices > 1 && *devices <= limit) {
    topology.counts = needed;
    topology.note = "the header says one device; replica groups, pairs or shardings need " +
                    Counted(needed.replicas, "replica") + " and " +
                    Counted(needed.partitions, "partition");
  }
  const bool may_be_whole =
      survey.partitioner_note ||
      (!IsNamedAsPartitioned(module) && (survey.has_shardings || !survey.device_work));
  topology.unpartitioned = topology.counts.partitions > 1 && !header.is_scheduled &&
                           !header.is_partitioned && may_be_whole;
  return topology;
}

}  // namespace hloscope::hlo
