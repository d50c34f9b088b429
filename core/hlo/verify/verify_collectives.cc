// Collectives: device groups, channels, and how many pieces their shapes are cut into.
#include "core/hlo/verify/verify_collectives.h"

#include "core/base/checked.h"
#include "core/base/counted.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::hlo {
namespace {

using enum Opcode;
using std::to_string;

// What the ids in replica_groups count (XLA: CollectiveOpGroupMode).
enum class GroupMode { kReplica, kPartition, kReplicaAndPartition, kFlattened };

std::string_view Describe(GroupMode mode) {
  switch (mode) {
    case GroupMode::kReplica:
    case GroupMode::kReplicaAndPartition:
      return "replicas";
    case GroupMode::kPartition:
      return "partitions";
    case GroupMode::kFlattened:
      return "flattened ids";
  }
  return "devices";
}

class CollectivePass {
 public:
  explicit CollectivePass(VerifyContext& context)
      : context_(context),
        module_(context.module()),
        replicas_(context.module().header().replica_count),
        partitions_(context.module().header().num_partitions) {}

  void Check(InstructionId id) {
    using Self = CollectivePass;
    static constexpr OpcodeTable<void (Self::*)(InstructionId)> kChecks = {
        {kAllGather, &Self::CheckAllGather},
        {kAllGatherStart, &Self::CheckAllGather},
        {kAllReduce, &Self::CheckAllReduce},
        {kAllReduceStart, &Self::CheckAllReduce},
        {kAllToAll, &Self::CheckAllToAll},
        {kCollectiveBroadcast, &Self::CheckDeviceGroups},
        {kCollectivePermute, &Self::CheckPermute},
        {kCollectivePermuteStart, &Self::CheckPermute},
        {kCollectiveReduce, &Self::CheckDeviceGroups},
        {kRaggedAllToAll, &Self::CheckRaggedAllToAll},
        {kReduceScatter, &Self::CheckReduceScatter},
    };
    if (const auto check = kChecks[module_[id].opcode]; check != nullptr) (this->*check)(id);
  }

 private:
  void Report(InstructionId id, bool certain, std::string_view rule, std::string message) {
    ReportDevices(context_, id, certain, rule, std::move(message));
  }

  std::optional<GroupMode> ModeOf(InstructionId id, bool knows_global_ids) {
    const Instruction& i = module_[id];
    bool channel = module_.Find(i, AttributeKey::kChannelId) != nullptr;
    bool global = module_.GetBool(i, AttributeKey::kUseGlobalDeviceIds);
    if (!channel) {
      if (!global || !knows_global_ids) return GroupMode::kReplica;
      Report(id, true, "channel-id", "has use_global_device_ids but no channel_id");
      return std::nullopt;
    }
    if (!knows_global_ids) return GroupMode::kPartition;
    return global ? GroupMode::kFlattened : GroupMode::kReplicaAndPartition;
  }

  int64_t DevicesOf(GroupMode mode) const {
    switch (mode) {
      case GroupMode::kPartition:
        return partitions_;
      case GroupMode::kFlattened:
        return CheckedMul(replicas_, partitions_).value_or(1);
      default:
        return replicas_;
    }
  }

  bool CheckGroups(InstructionId id, const DeviceGroups& groups, GroupMode mode, bool uniform) {
    if (!groups.given) {
      if (mode != GroupMode::kFlattened) return true;
      Report(id, true, "replica-groups",
             "uses flattened device ids (channel_id and use_global_device_ids) without "
             "replica_groups");
      return false;
    }
    int64_t devices = DevicesOf(mode);
    if (groups.devices != devices) {
      Report(id, devices != 1, "replica-groups",
             "has " + Counted(groups.devices, "device") +
                 " in its replica groups, but the module " + "has " + to_string(devices) + " " +
                 std::string(Describe(mode)));
      if (devices != 1) return false;
    }
    if (!uniform || groups.uniform) return true;
    Report(id, true, "replica-groups", "has replica groups of different sizes");
    return false;
  }

  // How many devices work together (XLA: GetSubgroupSize).
  int64_t SubgroupSize(const DeviceGroups& groups, GroupMode mode) const {
    int64_t own = groups.given ? groups.first_size
                               : (mode == GroupMode::kPartition ? partitions_ : replicas_);
    if (mode == GroupMode::kReplicaAndPartition) return CheckedMul(own, partitions_).value_or(own);
    return own;
  }

  std::optional<int64_t> OneDimension(InstructionId id, const Shape& a, const Shape& b) {
    auto dimensions = module_.GetInts(module_[id], AttributeKey::kDimensions);
    auto fits = [&](const Shape& s) {
      return s.IsArray() && dimensions[0] < static_cast<int64_t>(s.rank());
    };
    if (!dimensions.empty() && dimensions[0] >= 0 && fits(a) && fits(b)) return dimensions[0];
    context_.Error(id, ToString(module_[id].opcode),
                   context_.Name(id) + " has dimensions=" + IndexText(dimensions) +
                       ", expected one dimension of " + context_.Text(a) + " and " +
                       context_.Text(b));
    return std::nullopt;
  }

  // The result that belongs to operand `o`; null where the shape has none.
  const Shape* ResultOf(InstructionId id, size_t o) const {
    const Shape* shape = &module_.shape(id);
    const Instruction& i = module_[id];
    if (i.opcode == kAllGatherStart) {
      if (!shape->IsTuple() || shape->elements().size() < 2) return nullptr;
      shape = &shape->elements()[1];
    }
    if (i.operand_count == 1) return shape;
    if (!shape->IsTuple() || shape->elements().size() <= o) return nullptr;
    return &shape->elements()[o];
  }

  void CheckPieces(InstructionId id, const Shape& whole, const Shape& piece, int64_t dimension,
                   int64_t subgroup) {
    auto d = static_cast<size_t>(dimension);
    int64_t size = whole.dimension(d), part = piece.dimension(d);
    int64_t pieces = part == 0 ? subgroup : size / part + (size % part != 0 ? 1 : 0);
    if (pieces == subgroup) return;
    Report(id, subgroup != 1, "shard-count",
           "splits dimension " + to_string(dimension) + " of " + context_.Text(whole) + " into " +
               Counted(pieces, "shard") + ", but its replica groups have " +
               Counted(subgroup, "device"));
  }

  // Gathering and scattering differ in which side is the whole.
  void CheckCutting(InstructionId id, bool gather) {
    auto mode = ModeOf(id, true);
    if (!mode) return;
    auto groups = ReadDeviceGroups(context_, id);
    if (!groups || !CheckGroups(id, *groups, *mode, true)) return;
    auto operands = module_.operands(id);
    if (operands.empty()) {
      context_.Error(id, "operand-count",
                     context_.Name(id) + " has no operands, expected at least one");
      return;
    }
    for (size_t o = 0; o < operands.size(); ++o) {
      const Shape* result = ResultOf(id, o);
      if (result == nullptr) {
        context_.Error(id, "shape-mismatch",
                       context_.Name(id) + " is " + context_.Text(id) +
                           ", which has no result for operand " + to_string(o));
        return;
      }
      const Shape& operand = module_.shape(operands[o]);
      auto dimension = OneDimension(id, operand, *result);
      if (!dimension) return;
      if (o != 0) continue;
      CheckPieces(id, gather ? *result : operand, gather ? operand : *result, *dimension,
                  SubgroupSize(*groups, *mode));
    }
  }

  void CheckAllGather(InstructionId id) { CheckCutting(id, true); }
  void CheckDeviceGroups(InstructionId id) { ReadDeviceGroups(context_, id); }
  void CheckPermute(InstructionId id) {
    VerifyPermute(context_, id, DevicesOf(*ModeOf(id, false)));
  }

  void CheckReduceScatter(InstructionId id) {
    CheckCutting(id, false);
    CheckReducer(id);
  }

  void CheckAllReduce(InstructionId id) {
    auto mode = ModeOf(id, true);
    if (!mode) return;
    auto groups = ReadDeviceGroups(context_, id);
    if (groups) CheckGroups(id, *groups, *mode, false);
    CheckReducer(id);
    const Attribute* channel = module_.Find(id, AttributeKey::kChannelId);
    if (channel != nullptr && module_.IntOf(*channel) <= 0) {
      Report(
          id, true, "channel-id",
          "has channel_id " + to_string(module_.IntOf(*channel)) + ", expected a positive number");
    }
    bool constrained = module_.GetBool(module_[id], AttributeKey::kConstrainLayout);
    if (!reference_.valid()) {
      reference_ = id;
      constrained_ = constrained;
    } else if (constrained != constrained_) {
      Report(id, true, "constrain-layout",
             "and " + context_.Name(reference_) +
                 " differ in constrain_layout, expected the same for all all-reduces of a module");
    }
  }

  // A reducer takes two values and gives one.
  void CheckReducer(InstructionId id) {
    ComputationId c = module_.GetComputation(module_[id], AttributeKey::kToApply);
    if (!c.valid() || context_.parameter_count(c) == 2) return;
    Report(id, false, "reducer",
           "reduces with " + context_.Name(c) + ", which has " +
               Counted(context_.parameter_count(c), "parameter") + ", expected 2");
  }

  void CheckAllToAll(InstructionId id) {
    const Instruction& i = module_[id];
    GroupMode mode = *ModeOf(id, false);
    auto groups = ReadDeviceGroups(context_, id);
    if (!groups || !CheckGroups(id, *groups, mode, true)) return;
    int64_t pieces = SubgroupSize(*groups, mode);
    bool splits = module_.Find(i, AttributeKey::kDimensions) != nullptr;
    int64_t wanted = splits ? 1 : pieces;
    if (static_cast<int64_t>(i.operand_count) != wanted) {
      // Protos do not say how many devices there are, so one may stand for unknown.
      Report(id, groups->given || pieces != 1, "all-to-all",
             "has " + Counted(i.operand_count, "operand") + ", expected " + to_string(wanted) +
                 " for replica groups of " + Counted(pieces, "device"));
      return;
    }
    if (!splits) return;
    auto dimension = OneDimension(id, module_.shape(module_.operands(i)[0]), module_.shape(id));
    if (!dimension) return;
    int64_t size = module_.shape(id).dimension(static_cast<size_t>(*dimension));
    if (pieces > 0 && size % pieces == 0) return;
    Report(id, true, "all-to-all",
           "splits dimension " + to_string(*dimension) + " of size " + to_string(size) + " among " +
               Counted(pieces, "device") + ", which does not divide evenly");
  }

  void CheckRaggedAllToAll(InstructionId id) {
    auto groups = ReadDeviceGroups(context_, id);
    if (!groups || !CheckGroups(id, *groups, *ModeOf(id, false), true)) return;
    auto operands = module_.operands(id);
    if (operands.size() != 6) return;
    for (size_t o = 2; o < operands.size(); ++o) {
      const Shape& shape = module_.shape(operands[o]);
      if (shape.rank() != 1 && shape.rank() != 2) {
        Report(id, true, "ragged-all-to-all",
               "has " + context_.Text(shape) + " as operand " + to_string(o) +
                   ", expected one or two dimensions");
        return;
      }
      if (SameShape(shape, module_.shape(operands[2]))) continue;
      Report(id, true, "ragged-all-to-all",
             "has operands 2 to 5 of different shapes: " + context_.Text(operands[2]) + " and " +
                 context_.Text(shape));
      return;
    }
  }

  VerifyContext& context_;
  const Module& module_;
  int64_t replicas_, partitions_;
  InstructionId reference_;
  bool constrained_ = false;
};

}  // namespace

void VerifyCollectives(VerifyContext& context) {
  CollectivePass pass(context);
  for (InstructionId id : context.collectives()) {
    if (context.full()) return;
    pass.Check(id);
  }
}

}  // namespace hloscope::hlo
