// Which devices a collective instruction brings together.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::hlo {

// How many devices run a module. Device number: replica · partitions + partition.
struct DeviceCounts {
  int64_t replicas = 1;
  int64_t partitions = 1;
  int64_t devices() const { return replicas * partitions; }
  bool operator==(const DeviceCounts&) const = default;
};

// What the ids of a collective's groups count (XLA: CollectiveOpGroupMode).
enum class GroupMode : uint8_t { kReplica, kPartition, kReplicaAndPartition, kFlattened };

// By channel_id and use_global_device_ids (XLA: GetCollectiveOpGroupMode). Ids that are too large
// for partitions, of a module that has none, count devices.
GroupMode GroupModeOf(const Module& module, InstructionId id, const DeviceCounts& counts);
// The largest id that replica groups or source-target pairs name; -1 if they name none.
int64_t LargestId(const Module& module, InstructionId id);
// How many ids of that mode there are.
int64_t IdCount(GroupMode mode, const DeviceCounts& counts);
// The device that id `id` means to `device`, which may be itself; modes of one device per id.
int64_t DeviceOf(GroupMode mode, int64_t id, int64_t device, const DeviceCounts& counts);

// The ids of a mesh in row-major order of its axes; nullopt if they are more than `limit`, or the
// mesh is malformed.
std::optional<std::vector<int64_t>> ListMesh(const Mesh& mesh, int64_t limit);

// The mesh split by axes (parts of axes included), of which those in `last` vary fastest, in their
// order: the ids in groups of equal last axes' product. Nullopt as ListMesh, or for bad axes.
std::optional<std::vector<int64_t>> ListByAxes(const Mesh& mesh, std::span<const AxisRef> last,
                                               int64_t limit);

// replica_groups written out; no groups where none are given. Nullopt as above.
std::optional<std::vector<std::vector<int64_t>>> ListGroups(const DeviceList& list, int64_t limit);

// The devices that work together at a collective with replica_groups, each group in its order; no
// groups given: all (XLA: GetParticipatingDevicesGroups). Input error: groups that name devices
// there are not.
Result<std::vector<std::vector<int64_t>>> CollectiveGroups(const Module& module, InstructionId id,
                                                           const DeviceCounts& counts);

// Pairs of ids from source_target_pairs or, for send and recv, from the frontend attribute
// _xla_send_recv_source_target_pairs; empty where there are none.
std::vector<std::pair<int64_t, int64_t>> SourceTargetPairs(const Module& module, InstructionId id);

// The value of a frontend attribute; nullopt where there is none.
std::optional<std::string_view> FrontendValue(const Module& module, InstructionId id,
                                              std::string_view key);

}  // namespace hloscope::hlo
