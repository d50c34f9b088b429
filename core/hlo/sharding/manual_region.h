// Borders of manual regions (shard_map): outside, a value is the whole array; inside, each device
// has its own part (XLA: sharding_op_util.h; Shardy: manual_computation).
#pragma once

#include <cstdint>
#include <expected>
#include <string_view>
#include <vector>

#include "core/hlo/module.h"
#include "core/hlo/sharding.h"
#include "core/hlo/sharding/tiling.h"

namespace hloscope::hlo {

// Custom calls there; each operand crosses the border by itself.
inline constexpr std::string_view kFullToShard = "SPMDFullToShardShape";
inline constexpr std::string_view kShardToFull = "SPMDShardToFullShape";
inline constexpr std::string_view kGlobalToLocal = "xla.sdy.GlobalToLocalShape";
inline constexpr std::string_view kLocalToGlobal = "xla.sdy.LocalToGlobalShape";

bool EntersManualRegion(const Module& module, InstructionId id);
bool LeavesManualRegion(const Module& module, InstructionId id);
inline bool IsManualBorder(const Module& module, InstructionId id) {
  return EntersManualRegion(module, id) || LeavesManualRegion(module, id);
}
// What says how the array is sharded that enters a region: the partitioner wants it there.
bool IsShardingAt(const Module& module, InstructionId border, InstructionId operand);
// Values that stand for their operand and hold something for Shardy: they say that they have an
// effect, so that nothing drops them before it, and have none.
bool IsShardyAnnotation(const Module& module, InstructionId id);

// In the header's frontend attributes of a module whose borders were written as instructions: its
// inputs and results are still the whole arrays, and each partition computes all values by itself.
inline constexpr std::string_view kOwnValues = "hloscope.own_values";
bool AreValuesOwn(const Module& module);
// By instruction of a module that is not partitioned yet: its value is one device's own, not the
// whole array. So are those of manual regions, and all where AreValuesOwn.
std::vector<bool> OwnValues(const Module& module);

// The shardings of the whole arrays of a border's operands, in order, or why there are none: of
// Shardy's only the manual axes.
std::expected<std::vector<Sharding>, std::string_view> ManualShardings(const Module& module,
                                                                       InstructionId id);

// How the whole array is cut along the dimensions where the part is smaller; others are sharded by
// axes that are not manual, if at all. Or why it cannot be.
std::expected<Tiling, std::string_view> ManualTiling(const Sharding& sharding, const Shape& whole,
                                                     const Shape& part, int64_t partitions);

// The partitions that put a whole together where a region ends, group by group, in an order that is
// alike in all of them: those of one place along the axes that are not the region's own. A region
// inside another one has a whole for each part of that one. One group, in order: all partitions.
std::vector<std::vector<int64_t>> ManualGroups(const Module& module, InstructionId id,
                                               int64_t partitions);

// Where the part with that number lies in the whole array; the last ones may be short, or empty.
struct PartOfWhole {
  std::vector<int64_t> start, sizes;
};
PartOfWhole PartAt(const Tiling& tiling, int64_t tile, const Shape& whole, const Shape& part);

}  // namespace hloscope::hlo
