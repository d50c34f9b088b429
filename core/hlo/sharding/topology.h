// Topology: how many devices a module is for, and whether its values are those of one device or of
// all partitions together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/hlo/module.h"
#include "core/hlo/sharding/device_groups.h"

namespace hloscope::hlo {

struct Topology {
  DeviceCounts counts;
  // Values are global: the module has yet to be partitioned. Only manual regions (shard_map) are
  // written for one device.
  bool unpartitioned = false;
  // Something is computed by each device on its own: collectives, partition-id, manual regions.
  bool has_device_work = false;
  std::string note;  // why `counts` are not the header's; else empty
};

// The header's counts; where it says one device, as many as replica groups, source-target pairs and
// shardings need, up to `limit`. Unpartitioned: several partitions, not scheduled, and shardings,
// notes to the partitioner or meshes that partitioning would have removed, or nothing that tells
// devices apart; shardings of an entry that is called as the partitioner calls its own ("…_spmd")
// are no such note.
Topology TopologyOf(const Module& module, int64_t limit);

// Does each device compute the instruction on its own, whatever its operands: collectives, sends,
// partition-id and the way into a manual region.
bool IsDeviceWork(const Module& module, InstructionId id);

}  // namespace hloscope::hlo
