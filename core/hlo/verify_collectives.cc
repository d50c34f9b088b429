// Collectives: device groups, channels, and how many pieces their shapes are cut into.
#include <algorithm>

#include "core/base/checked.h"
#include "core/hlo/verify_context.h"
#include "core/hlo/verify_sharding.h"

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

// The device groups of an instruction, however they are written.
struct Groups {
  bool given = false;      // false: all devices are one group
  int64_t devices = 0;     // in all groups together
  int64_t first_size = 0;  // of the first group
  bool uniform = true;
};

class CollectivePass {
 public:
  explicit CollectivePass(VerifyContext& context)
      : context_(context),
        module_(context.module()),
        replicas_(context.module().header().replica_count),
        partitions_(context.module().header().num_partitions) {}

  void Check(InstructionId id) {
    const Instruction& i = module_[id];
    switch (i.opcode) {
      case kAllGather:
      case kAllGatherStart:
        return CheckAllGather(id);
      case kAllReduce:
      case kAllReduceStart:
        return CheckAllReduce(id);
      case kReduceScatter:
        return CheckReduceScatter(id);
      case kAllToAll:
        return CheckAllToAll(id);
      case kRaggedAllToAll:
        return CheckRaggedAllToAll(id);
      case kCollectivePermute:
      case kCollectivePermuteStart:
        return CheckPermute(id);
      case kCollectiveBroadcast:
      case kCollectiveReduce: {
        ReadGroups(id);
        return;
      }
      default:
        return;
    }
  }

 private:
  void Report(InstructionId id, bool certain, std::string_view rule, std::string message) {
    if (certain) {
      context_.Error(id, rule, context_.Name(id) + " " + std::move(message));
    } else {
      context_.Strict(id, rule, context_.Name(id) + " " + std::move(message),
                      "give the module replica_count or num_partitions");
    }
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

  // Groups of an instruction; nullopt and a finding where they are malformed.
  std::optional<Groups> ReadGroups(InstructionId id) {
    const auto* list = module_.Get<DeviceList>(module_[id], AttributeKey::kReplicaGroups);
    Groups groups;
    if (list == nullptr) return groups;
    switch (list->form) {
      case DeviceList::Form::kGroups:
        return ReadListed(id, list->groups);
      case DeviceList::Form::kIota:
        return ReadIota(id, *list);
      case DeviceList::Form::kMesh:
        return ReadMesh(id, *list);
    }
    return groups;
  }

  std::optional<Groups> ReadListed(InstructionId id,
                                   const std::vector<std::vector<int64_t>>& lists) {
    Groups groups;
    if (lists.empty()) return groups;
    groups.given = true;
    groups.first_size = static_cast<int64_t>(lists[0].size());
    for (const auto& group : lists) {
      if (group.empty()) {
        Report(id, true, "replica-groups", "has an empty replica group");
        return std::nullopt;
      }
      groups.devices += static_cast<int64_t>(group.size());
      groups.uniform &= group.size() == lists[0].size();
    }
    std::vector<bool> seen(static_cast<size_t>(groups.devices));
    for (const auto& group : lists) {
      for (int64_t device : group) {
        if (device < 0 || device >= groups.devices) {
          Report(id, true, "replica-groups",
                 "names device " + to_string(device) + " in its replica groups of " +
                     to_string(groups.devices) + " devices; they count from 0");
          return std::nullopt;
        }
        if (seen[static_cast<size_t>(device)]) {
          Report(id, true, "replica-groups",
                 "names device " + to_string(device) + " twice in its replica groups");
          return std::nullopt;
        }
        seen[static_cast<size_t>(device)] = true;
      }
    }
    return groups;
  }

  std::optional<Groups> ReadIota(InstructionId id, const DeviceList& list) {
    auto devices = CheckedMul(list.group_count, list.group_size);
    auto iota = CheckedProduct(list.iota.reshape_dims);
    bool good = list.group_count > 0 && list.group_size > 0 && devices && iota == devices &&
                (list.iota.transpose.empty() ||
                 list.iota.transpose.size() == list.iota.reshape_dims.size());
    if (!good) {
      Report(id, true, "replica-groups",
             "has " + to_string(list.group_count) + " replica groups of " +
                 to_string(list.group_size) + " devices, which is not the size of its iota");
      return std::nullopt;
    }
    return Groups{true, *devices, list.group_size, true};
  }

  std::optional<Groups> ReadMesh(InstructionId id, const DeviceList& list) {
    auto devices = DeviceCount(list.mesh);
    auto size = AxesSize(list.mesh, list.axes);
    if (!devices || !size || *size < 1 || *devices % *size != 0) {
      Report(id, true, "replica-groups",
             "has a device mesh without a valid size, or axes that are not of it");
      return std::nullopt;
    }
    return Groups{true, *devices, *size, true};
  }

  bool CheckGroups(InstructionId id, const Groups& groups, GroupMode mode, bool uniform) {
    if (!groups.given) {
      if (mode != GroupMode::kFlattened) return true;
      Report(id, true, "replica-groups",
             "uses flattened device ids (channel_id and use_global_device_ids), so "
             "replica_groups must be given");
      return false;
    }
    int64_t devices = DevicesOf(mode);
    if (groups.devices != devices) {
      Report(id, devices != 1, "replica-groups",
             "has " + to_string(groups.devices) + " devices in its replica groups, the module " +
                 to_string(devices) + " " + std::string(Describe(mode)));
      if (devices != 1) return false;
    }
    if (!uniform || groups.uniform) return true;
    Report(id, true, "replica-groups", "needs replica groups of one size");
    return false;
  }

  // How many devices work together (XLA: GetSubgroupSize).
  int64_t SubgroupSize(const Groups& groups, GroupMode mode) const {
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
                   context_.Name(id) + " must name one dimension that " + context_.Text(a) +
                       " and " + context_.Text(b) +
                       " have, has dimensions=" + IndexText(dimensions));
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
           "cuts dimension " + to_string(dimension) + " of " + context_.Text(whole) + " into " +
               to_string(pieces) + " pieces, its groups have " + to_string(subgroup) + " devices");
  }

  // Gathering and scattering differ in which side is the whole.
  void CheckCutting(InstructionId id, bool gather) {
    auto mode = ModeOf(id, true);
    if (!mode) return;
    auto groups = ReadGroups(id);
    if (!groups || !CheckGroups(id, *groups, *mode, true)) return;
    auto operands = module_.operands(id);
    if (operands.empty()) {
      context_.Error(id, "operand-count", context_.Name(id) + " needs at least one operand");
      return;
    }
    for (size_t o = 0; o < operands.size(); ++o) {
      const Shape* result = ResultOf(id, o);
      if (result == nullptr) {
        context_.Error(id, "shape-mismatch",
                       context_.Name(id) + " is " + context_.Text(id) + ", it has no result for " +
                           "operand " + to_string(o));
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

  void CheckReduceScatter(InstructionId id) {
    CheckCutting(id, false);
    CheckReducer(id);
  }

  void CheckAllReduce(InstructionId id) {
    auto mode = ModeOf(id, true);
    if (!mode) return;
    auto groups = ReadGroups(id);
    if (groups) CheckGroups(id, *groups, *mode, false);
    CheckReducer(id);
    const Attribute* channel = module_.Find(id, AttributeKey::kChannelId);
    if (channel != nullptr && module_.IntOf(*channel) <= 0) {
      Report(id, true, "channel-id",
             "has channel_id " + to_string(module_.IntOf(*channel)) + ", it must be above 0");
    }
    bool constrained = module_.GetBool(module_[id], AttributeKey::kConstrainLayout);
    if (!reference_.valid()) {
      reference_ = id;
      constrained_ = constrained;
    } else if (constrained != constrained_) {
      Report(id, true, "constrain-layout",
             "and " + context_.Name(reference_) +
                 " differ in constrain_layout; all all-reduces of a module must agree");
    }
  }

  // A reducer takes two values and gives one.
  void CheckReducer(InstructionId id) {
    ComputationId c = module_.GetComputation(module_[id], AttributeKey::kToApply);
    if (!c.valid() || context_.parameter_count(c) == 2) return;
    Report(id, false, "reducer",
           "reduces by " + context_.Name(c) + ", which has " +
               to_string(context_.parameter_count(c)) + " parameters, expected 2");
  }

  void CheckAllToAll(InstructionId id) {
    const Instruction& i = module_[id];
    GroupMode mode = *ModeOf(id, false);
    auto groups = ReadGroups(id);
    if (!groups || !CheckGroups(id, *groups, mode, true)) return;
    int64_t pieces = SubgroupSize(*groups, mode);
    bool splits = module_.Find(i, AttributeKey::kDimensions) != nullptr;
    int64_t wanted = splits ? 1 : pieces;
    if (static_cast<int64_t>(i.operand_count) != wanted) {
      Report(id, true, "all-to-all",
             "has " + to_string(i.operand_count) + " operands, expected " + to_string(wanted) +
                 " for groups of " + to_string(pieces) + " devices");
      return;
    }
    if (!splits) return;
    auto dimension = OneDimension(id, module_.shape(module_.operands(i)[0]), module_.shape(id));
    if (!dimension) return;
    int64_t size = module_.shape(id).dimension(static_cast<size_t>(*dimension));
    if (pieces > 0 && size % pieces == 0) return;
    Report(id, true, "all-to-all",
           "splits dimension " + to_string(*dimension) + " of size " + to_string(size) +
               " among groups of " + to_string(pieces) + " devices, which does not divide it");
  }

  void CheckRaggedAllToAll(InstructionId id) {
    auto groups = ReadGroups(id);
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

  // Offsets of an in-place permute: one index per dimension of the buffer, or several such.
  bool OffsetFits(const Shape& buffer, const Shape& offset) const {
    if (!offset.IsTuple()) return false;
    auto elements = offset.elements();
    auto all = [&](auto&& test) { return std::all_of(elements.begin(), elements.end(), test); };
    if (all([](const Shape& s) { return s.IsArray(); })) return elements.size() == buffer.rank();
    return all([&](const Shape& s) { return s.IsTuple() && s.elements().size() == buffer.rank(); });
  }

  bool OffsetsFit(const Shape& buffer, const Shape& offset) const {
    if (!buffer.IsTuple()) return OffsetFits(buffer, offset);
    if (!offset.IsTuple() || offset.elements().size() != buffer.elements().size()) return false;
    for (size_t e = 0; e < buffer.elements().size(); ++e) {
      if (!OffsetFits(buffer.elements()[e], offset.elements()[e])) return false;
    }
    return true;
  }

  // How often a device may be source or target; 0 and a finding where operands do not fit.
  int64_t AllowedMentions(InstructionId id) {
    auto operands = module_.operands(id);
    const Attribute* sizes = module_.Find(id, AttributeKey::kSliceSizes);
    bool in_place = sizes != nullptr || module_.GetBool(module_[id], AttributeKey::kInplace) ||
                    (operands.size() == 4 && module_.shape(operands[2]).IsTuple());
    if (!in_place) return 1;
    if (operands.size() != 4) {
      Report(id, true, "operand-count",
             "has " + to_string(operands.size()) + " operands, expected 1 or 4");
      return 0;
    }
    const Shape& input = module_.shape(operands[0]);
    const Shape& output = module_.shape(operands[1]);
    const Shape& offsets = module_.shape(operands[2]);
    bool fits = input.IsTuple() == output.IsTuple() &&
                (!input.IsTuple() || input.elements().size() == output.elements().size()) &&
                OffsetsFit(input, offsets) && OffsetsFit(output, module_.shape(operands[3]));
    if (!fits) {
      Report(id, true, "collective-permute",
             "has offsets that do not fit its buffers " + context_.Text(input) + " and " +
                 context_.Text(output));
      return 0;
    }
    if (!input.IsTuple()) {
      bool grouped = !offsets.elements().empty() && offsets.elements()[0].IsTuple();
      return grouped ? static_cast<int64_t>(offsets.elements().size())
                     : std::max<int64_t>(1, static_cast<int64_t>(offsets.elements().size()));
    }
    if (offsets.elements().empty()) return 1;
    return std::max<int64_t>(1, static_cast<int64_t>(offsets.elements()[0].elements().size()));
  }

  void CheckPermute(InstructionId id) {
    int64_t allowed = AllowedMentions(id);
    if (allowed == 0) return;
    auto pairs = module_.GetInts(module_[id], AttributeKey::kSourceTargetPairs);
    int64_t limit = DevicesOf(*ModeOf(id, false));
    for (size_t side = 0; side < 2; ++side) {
      if (!CheckSide(id, pairs, side, allowed, limit)) return;
    }
  }

  bool CheckSide(InstructionId id, std::span<const int64_t> pairs, size_t side, int64_t allowed,
                 int64_t limit) {
    std::vector<int64_t> devices;
    for (size_t p = side; p < pairs.size(); p += 2) devices.push_back(pairs[p]);
    std::sort(devices.begin(), devices.end());
    std::string what = side == 0 ? "source" : "target";
    if (!devices.empty() && devices.front() < 0) {
      Report(id, true, "source-target-pairs",
             "has the " + what + " " + to_string(devices.front()) + ", which is negative");
      return false;
    }
    auto repeats = static_cast<size_t>(allowed);
    for (size_t d = 0; d + repeats < devices.size(); ++d) {
      if (devices[d] != devices[d + repeats]) continue;
      Report(id, true, "source-target-pairs",
             "has the " + what + " " + to_string(devices[d]) + " more than " + to_string(allowed) +
                 (allowed == 1 ? " time" : " times"));
      return false;
    }
    if (devices.empty() || devices.back() < limit) return true;
    Report(id, limit != 1, "source-target-pairs",
           "has the " + what + " " + to_string(devices.back()) + ", the module has " +
               to_string(limit) + " devices");
    return false;
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
