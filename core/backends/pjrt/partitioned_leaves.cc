#include "core/backends/pjrt/partitioned_leaves.h"

#include <fmt/format.h>

#include "core/hlo/proto/proto.h"

namespace hloscope::replay::pjrt {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Module;
using hlo::Shape;
using hlo::Sharding;

namespace {

bool IsTileOf(const hlo::Tiling& tiling, const Shape& tile, const Shape& whole) {
  if (tile.rank() != whole.rank()) return false;
  for (size_t d = 0; d < tile.rank(); ++d) {
    const int64_t tiles = tiling.tiles[d];
    if ((whole.dimension(d) + tiles - 1) / tiles != tile.dimension(d)) return false;
  }
  return true;
}

// The tiling of an array that a device holds as `tile`, by `sharding` or, failing that, by what was
// asked for.
Status Settle(std::string_view what, const Sharding* sharding, const Shape& tile,
              const Shape& whole, int64_t partitions, std::optional<hlo::Tiling>& tiling) {
  if (sharding != nullptr) {
    auto said = hlo::TilingOf(*sharding, whole.rank(), partitions);
    if (said && IsTileOf(*said, tile, whole)) {
      tiling = std::move(said);
      return {};
    }
  }
  if (tiling && IsTileOf(*tiling, tile, whole)) return {};
  if (hlo::Compatible(tile, whole, {.dynamic_dimensions = false})) {
    tiling.reset();
    return {};
  }
  return UnsupportedError(
      fmt::format("{}: the plugin holds {} as {} and does not report its sharding", what,
                  hlo::ToString(whole, false), hlo::ToString(tile, false)),
      "add a sharding for it to the module before partitioning");
}

const Sharding* ShardingOfLeaf(const Sharding* sharding, size_t leaf) {
  if (sharding == nullptr || sharding->kind != hlo::ShardingKind::kTuple) return sharding;
  return leaf < sharding->elements.size() ? &sharding->elements[leaf] : nullptr;
}

Status SettleInputs(const Module& compiled, Adapted& adapted) {
  const auto parameters = compiled.Parameters(compiled.entry_id());
  size_t next = 0;
  for (InputLeaf& leaf : adapted.inputs) {
    if (leaf.shape.IsToken()) continue;
    if (next >= parameters.size() || !parameters[next].valid()) {
      return InternalError("the plugin's optimised module has other parameters");
    }
    const InstructionId id = parameters[next];
    next += 1 + leaf.dynamic_dimensions.size();
    HLOSCOPE_TRY(Settle(compiled.name(id),
                        compiled.Get<Sharding>(compiled[id], AttributeKey::kSharding),
                        compiled.shape(id), leaf.shape, adapted.counts.partitions, leaf.tiling));
  }
  return {};
}

Status SettleOutputs(const Module& compiled, Adapted& adapted) {
  const auto leaves = compiled.shape(compiled.entry().root).LeafShapes();
  const auto& said = compiled.header().spmd_output_sharding;
  for (OutputLeaf& leaf : adapted.outputs) {
    if (leaf.output < 0) continue;
    const auto i = static_cast<size_t>(leaf.output);
    if (i >= leaves.size()) return InternalError("the plugin's optimised module has other results");
    HLOSCOPE_TRY(Settle(fmt::format("result {}", i), ShardingOfLeaf(said ? &*said : nullptr, i),
                        *leaves[i], leaf.shape, adapted.counts.partitions, leaf.tiling));
  }
  return {};
}

}  // namespace

Result<bool> FindTilings(std::string_view optimized_module, Adapted& adapted) {
  // Plugins leave out large constants; then what was asked for has to do.
  const auto file = hlo::ReadProto(std::as_bytes(std::span(optimized_module)));
  if (!file.has_value()) return false;
  HLOSCOPE_TRY(SettleInputs(*file->module, adapted));
  HLOSCOPE_TRY(SettleOutputs(*file->module, adapted));
  return true;
}

}  // namespace hloscope::replay::pjrt
