// Replica groups and meshes written out as device numbers.
#include "core/hlo/sharding/device_groups.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "core/base/checked.h"
#include "core/hlo/opcode_traits.h"
#include "core/hlo/text/text_cursor.h"
#include "core/hlo/tile_assignment.h"

namespace hloscope::hlo {
namespace {

constexpr int64_t kMaxIds = 1 << 20;

// A mesh axis cut into consecutive parts, and which part each reference to it is.
struct CutAxes {
  std::vector<int64_t> sizes;  // major to minor
  std::vector<int64_t> last;   // indices into `sizes`, in the order of the references
};

std::optional<CutAxes> Cut(const Mesh& mesh, std::span<const AxisRef> refs) {
  CutAxes cut;
  cut.last.assign(refs.size(), -1);
  for (size_t a = 0; a < mesh.axes.size(); ++a) {
    std::vector<size_t> here;
    for (size_t r = 0; r < refs.size(); ++r) {
      if (refs[r].axis == static_cast<int64_t>(a)) here.push_back(r);
    }
    std::ranges::sort(here, {}, [&](size_t r) { return refs[r].pre_size; });
    int64_t done = 1;
    for (size_t r : here) {
      const int64_t whole = mesh.axes[a].second;
      const int64_t before = refs[r].size == 0 ? 1 : std::max<int64_t>(refs[r].pre_size, 1);
      const int64_t size = refs[r].size == 0 ? whole : refs[r].size;
      if (size < 1 || before % done != 0 || before > whole || size > whole / before ||
          whole % (before * size) != 0) {
        return std::nullopt;
      }
      if (before > done) cut.sizes.push_back(before / done);
      cut.last[r] = static_cast<int64_t>(cut.sizes.size());
      cut.sizes.push_back(size);
      done = before * size;
    }
    if (done != mesh.axes[a].second) cut.sizes.push_back(mesh.axes[a].second / done);
  }
  if (std::ranges::find(cut.last, -1) != cut.last.end()) return std::nullopt;
  return cut;
}

std::unexpected<Error> BadGroups(const Module& module, InstructionId id, std::string_view why) {
  return InputError(std::string(module.name(id)) + ": " + std::string(why));
}

}  // namespace

int64_t LargestId(const Module& module, InstructionId id) {
  int64_t largest = -1;
  for (const auto& [source, target] : SourceTargetPairs(module, id)) {
    largest = std::max({largest, source, target});
  }
  const auto* list = module.Get<DeviceList>(module[id], AttributeKey::kReplicaGroups);
  const auto groups = list == nullptr ? std::nullopt : ListGroups(*list, kMaxIds);
  if (!groups) return largest;
  for (const auto& group : *groups) {
    for (int64_t each : group) largest = std::max(largest, each);
  }
  return largest;
}

GroupMode GroupModeOf(const Module& module, InstructionId id, const DeviceCounts& counts) {
  const Instruction& instruction = module[id];
  const Attribute* channel = module.Find(instruction, AttributeKey::kChannelId);
  if (channel == nullptr || module.IntOf(*channel) <= 0) return GroupMode::kReplica;
  if (!HasTrait(instruction.opcode, kTraitGlobalIds)) {
    const bool too_large = counts.partitions == 1 && LargestId(module, id) > 0;
    return too_large ? GroupMode::kFlattened : GroupMode::kPartition;
  }
  return module.GetBool(instruction, AttributeKey::kUseGlobalDeviceIds)
             ? GroupMode::kFlattened
             : GroupMode::kReplicaAndPartition;
}

int64_t IdCount(GroupMode mode, const DeviceCounts& counts) {
  if (mode == GroupMode::kPartition) return counts.partitions;
  return mode == GroupMode::kFlattened ? counts.devices() : counts.replicas;
}

int64_t DeviceOf(GroupMode mode, int64_t id, int64_t device, const DeviceCounts& counts) {
  if (mode == GroupMode::kFlattened) return id;
  if (mode == GroupMode::kPartition) return device / counts.partitions * counts.partitions + id;
  return id * counts.partitions + device % counts.partitions;
}

std::optional<std::vector<int64_t>> ListMesh(const Mesh& mesh, int64_t limit) {
  if (mesh.maximal || mesh.axes.empty()) {
    return mesh.device_ids.empty() ? std::vector<int64_t>{0} : mesh.device_ids;
  }
  const auto count = DeviceCount(mesh);
  if (!count || *count < 1 || *count > std::min(limit, kMaxIds)) return std::nullopt;
  TileAssignment tiles;
  tiles.dimensions = {*count};
  tiles.iota = mesh.iota;
  tiles.devices = mesh.device_ids;
  if (!tiles.iota && tiles.devices.empty()) tiles.iota = IotaTile{{*count}, {}};
  auto listed = Materialize(tiles);
  if (!listed || static_cast<int64_t>(listed->size()) != *count) return std::nullopt;
  return listed;
}

std::optional<std::vector<int64_t>> ListByAxes(const Mesh& mesh, std::span<const AxisRef> last,
                                               int64_t limit) {
  auto ids = ListMesh(mesh, limit);
  const auto cut = Cut(mesh, last);
  if (!ids || !cut) return std::nullopt;
  if (mesh.maximal || mesh.axes.empty()) return ids;
  std::vector<int64_t> strides(cut->sizes.size(), 1), order, index(cut->sizes.size(), 0);
  for (size_t d = strides.size(); d-- > 1;) strides[d - 1] = strides[d] * cut->sizes[d];
  for (int64_t d = 0; std::cmp_less(d, strides.size()); ++d) {
    if (std::ranges::find(cut->last, d) == cut->last.end()) order.push_back(d);
  }
  order.insert(order.end(), cut->last.begin(), cut->last.end());
  std::vector<int64_t> result;
  for (size_t i = 0; i < ids->size(); ++i) {
    int64_t offset = 0;
    for (size_t d = 0; d < strides.size(); ++d) offset += index[d] * strides[d];
    result.push_back((*ids)[static_cast<size_t>(offset)]);
    for (size_t k = order.size(); k-- > 0;) {
      const auto d = static_cast<size_t>(order[k]);
      if (++index[d] < cut->sizes[d]) break;
      index[d] = 0;
    }
  }
  return result;
}

std::optional<std::vector<std::vector<int64_t>>> ListGroups(const DeviceList& list, int64_t limit) {
  if (list.form == DeviceList::Form::kGroups) return list.groups;
  std::optional<std::vector<int64_t>> ids;
  int64_t size = list.group_size;
  if (list.form == DeviceList::Form::kMesh) {
    ids = ListByAxes(list.mesh, list.axes, limit);
    size = 1;
    for (const AxisRef& ref : list.axes) {
      if (!ids) break;
      size *= ref.size == 0 ? list.mesh.axes[static_cast<size_t>(ref.axis)].second : ref.size;
    }
  } else {
    const auto count = CheckedMul(list.group_count, list.group_size);
    if (!count || *count < 1 || *count > std::min(limit, kMaxIds)) return std::nullopt;
    ids = Materialize({{*count}, list.iota, {}});
  }
  if (!ids || size < 1 || ids->size() % static_cast<size_t>(size) != 0) return std::nullopt;
  std::vector<std::vector<int64_t>> groups;
  for (auto at = ids->begin(); at != ids->end(); at += size) groups.emplace_back(at, at + size);
  return groups;
}

Result<std::vector<std::vector<int64_t>>> CollectiveGroups(const Module& module, InstructionId id,
                                                           const DeviceCounts& counts) {
  const auto* list = module.Get<DeviceList>(module[id], AttributeKey::kReplicaGroups);
  std::vector<std::vector<int64_t>> groups;
  if (list != nullptr) {
    auto listed = ListGroups(*list, kMaxIds);
    if (!listed) return BadGroups(module, id, "its replica groups are malformed or too large");
    groups = *std::move(listed);
  }
  const GroupMode mode = GroupModeOf(module, id, counts);
  const int64_t ids = IdCount(mode, counts);
  if (groups.empty()) {
    groups.emplace_back(static_cast<size_t>(ids));
    std::iota(groups[0].begin(), groups[0].end(), 0);
  }
  for (const auto& group : groups) {
    for (int64_t each : group) {
      if (each >= 0 && each < ids) continue;
      return BadGroups(
          module, id,
          "its replica groups name device " + std::to_string(each) + " of " + std::to_string(ids));
    }
  }
  std::vector<std::vector<int64_t>> result;
  const auto add = [&](const std::vector<int64_t>& group, int64_t base, int64_t step) {
    std::vector<int64_t>& devices = result.emplace_back();
    for (int64_t each : group) devices.push_back(base + each * step);
  };
  for (const auto& group : groups) {
    if (mode == GroupMode::kFlattened) add(group, 0, 1);
    if (mode == GroupMode::kReplica) {
      for (int64_t p = 0; p < counts.partitions; ++p) add(group, p, counts.partitions);
    }
    if (mode == GroupMode::kPartition) {
      for (int64_t r = 0; r < counts.replicas; ++r) add(group, r * counts.partitions, 1);
    }
    if (mode != GroupMode::kReplicaAndPartition) continue;
    std::vector<int64_t>& devices = result.emplace_back();
    for (int64_t r : group) {
      for (int64_t p = 0; p < counts.partitions; ++p) devices.push_back(r * counts.partitions + p);
    }
  }
  return result;
}

std::optional<std::string_view> FrontendValue(const Module& module, InstructionId id,
                                              std::string_view key) {
  const auto* attributes =
      module.Get<FrontendAttributes>(module[id], AttributeKey::kFrontendAttributes);
  if (attributes == nullptr) return std::nullopt;
  for (const FrontendAttribute& entry : attributes->entries) {
    if (module[entry.key] == key) return module[entry.value];
  }
  return std::nullopt;
}

std::vector<std::pair<int64_t, int64_t>> SourceTargetPairs(const Module& module, InstructionId id) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  const auto given = module.GetInts(module[id], AttributeKey::kSourceTargetPairs);
  for (size_t i = 0; i + 1 < given.size(); i += 2) pairs.emplace_back(given[i], given[i + 1]);
  const auto text = FrontendValue(module, id, "_xla_send_recv_source_target_pairs");
  if (!pairs.empty() || !text) return pairs;
  TextCursor cursor(*text);
  cursor.Consume('{');
  while (cursor.Consume('{')) {
    const auto source = cursor.ReadInt();
    const bool comma = cursor.Consume(',');
    const auto target = cursor.ReadInt();
    if (!source || !comma || !target || !cursor.Consume('}')) return {};
    pairs.emplace_back(*source, *target);
    cursor.Consume(',');
  }
  return pairs;
}

}  // namespace hloscope::hlo
