// What the passes over collectives share: values of all members of a group on each of them.
#pragma once

#include "core/compile/passes/edit.h"
#include "core/hlo/sharding/device_groups.h"

namespace hloscope::compile {

// Members of each group; 0 where groups are of several sizes, of one, or arrays of so many bytes
// hold too much together.
size_t MembersOf(const hlo::Module& module, hlo::InstructionId id, const hlo::DeviceCounts& counts,
                 int64_t bytes);

// The arrays of all members along a new first dimension; `who`: attributes that say who meets.
hlo::InstructionId GatheredByAll(Edit& edit, hlo::InstructionId id, hlo::InstructionId own,
                                 size_t members, std::vector<hlo::Attribute> who);

// Where this device is in its group of devices: an s64.
hlo::InstructionId PositionInGroup(Edit& edit, hlo::InstructionId id,
                                   const hlo::DeviceCounts& counts,
                                   const std::vector<std::vector<int64_t>>& groups);

}  // namespace hloscope::compile
