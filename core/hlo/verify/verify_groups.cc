// Replica groups in their three forms: lists, an iota, axes of a mesh.
#include "core/base/checked.h"
#include "core/base/counted.h"
#include "core/hlo/verify/verify_collectives.h"
#include "core/hlo/verify/verify_sharding.h"

namespace hloscope::hlo {
namespace {

using std::to_string;

std::optional<DeviceGroups> ReadListed(VerifyContext& context, InstructionId id,
                                       const std::vector<std::vector<int64_t>>& lists) {
  DeviceGroups groups;
  if (lists.empty()) return groups;
  groups.given = true;
  groups.first_size = static_cast<int64_t>(lists[0].size());
  for (const auto& group : lists) {
    if (group.empty()) {
      ReportDevices(context, id, true, "replica-groups", "has an empty replica group");
      return std::nullopt;
    }
    groups.devices += static_cast<int64_t>(group.size());
    groups.uniform &= group.size() == lists[0].size();
  }
  std::vector<bool> seen(static_cast<size_t>(groups.devices));
  for (const auto& group : lists) {
    for (int64_t device : group) {
      if (device < 0 || device >= groups.devices) {
        ReportDevices(context, id, true, "replica-groups",
                      "names device " + to_string(device) + ", but its replica groups have " +
                          Counted(groups.devices, "device") + ", numbered from 0");
        return std::nullopt;
      }
      if (seen[static_cast<size_t>(device)]) {
        ReportDevices(
            context, id, true, "replica-groups",
            "names device " + to_string(device) + " twice in its replica groups, expected once");
        return std::nullopt;
      }
      seen[static_cast<size_t>(device)] = true;
    }
  }
  return groups;
}

std::optional<DeviceGroups> ReadIota(VerifyContext& context, InstructionId id,
                                     const DeviceList& list) {
  auto devices = CheckedMul(list.group_count, list.group_size);
  bool good =
      list.group_count > 0 && list.group_size > 0 && devices && IsSoundIota(list.iota, *devices);
  if (!good) {
    ReportDevices(context, id, true, "replica-groups",
                  "has " + Counted(list.group_count, "replica group") + " of " +
                      Counted(list.group_size, "device") +
                      ", which does not match the size of its iota");
    return std::nullopt;
  }
  return DeviceGroups{true, *devices, list.group_size, true};
}

std::optional<DeviceGroups> ReadMesh(VerifyContext& context, InstructionId id,
                                     const DeviceList& list) {
  auto devices = DeviceCount(list.mesh);
  auto size = AxesSize(list.mesh, list.axes);
  if (!devices || *devices < 1 || !size || *size < 1 || *devices % *size != 0) {
    ReportDevices(context, id, true, "replica-groups",
                  "has an invalid device mesh, or axes that its mesh does not have");
    return std::nullopt;
  }
  return DeviceGroups{true, *devices, *size, true};
}

}  // namespace

// DeviceGroups of an instruction; nullopt and a finding where they are malformed.
std::optional<DeviceGroups> ReadDeviceGroups(VerifyContext& context, InstructionId id) {
  const auto* list =
      context.module().Get<DeviceList>(context.module()[id], AttributeKey::kReplicaGroups);
  DeviceGroups groups;
  if (list == nullptr) return groups;
  switch (list->form) {
    case DeviceList::Form::kGroups:
      return ReadListed(context, id, list->groups);
    case DeviceList::Form::kIota:
      return ReadIota(context, id, *list);
    case DeviceList::Form::kMesh:
      return ReadMesh(context, id, *list);
  }
  return groups;
}

void ReportDevices(VerifyContext& context, InstructionId id, bool certain, std::string_view rule,
                   std::string message) {
  if (certain) {
    context.Error(id, rule, context.Name(id) + " " + std::move(message));
  } else {
    context.Strict(id, rule, context.Name(id) + " " + std::move(message),
                   "set replica_count or num_partitions of the module");
  }
}

}  // namespace hloscope::hlo
