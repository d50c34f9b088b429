#include "core/hlo/sharding/tiling.h"

#include <algorithm>

#include "core/base/checked.h"
#include "core/hlo/sharding/device_groups.h"
#include "core/hlo/tile_assignment.h"

namespace hloscope::hlo {
namespace {

// Devices listed so that `per_tile` neighbours hold one tile, tiles in row-major order.
std::optional<Tiling> FromList(std::vector<int64_t> tiles, const std::vector<int64_t>& list,
                               int64_t devices) {
  const auto count = CheckedProduct(tiles);
  if (!count || *count < 1 || list.size() % static_cast<size_t>(*count) != 0) return std::nullopt;
  const size_t per_tile = list.size() / static_cast<size_t>(*count);
  Tiling tiling{std::move(tiles), std::vector<int64_t>(static_cast<size_t>(devices), -1)};
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] < 0 || list[i] >= devices) return std::nullopt;
    tiling.tile_of[static_cast<size_t>(list[i])] = static_cast<int64_t>(i / per_tile);
  }
  return tiling;
}

std::optional<Tiling> OfNamed(const Sharding& sharding, size_t rank, int64_t devices) {
  const Mesh& mesh = sharding.mesh;
  if (!sharding.unreduced_axes.empty() || sharding.dimensions.size() > rank) return std::nullopt;
  std::vector<AxisRef> axes;
  std::vector<int64_t> tiles(rank, 1);
  for (size_t d = 0; d < sharding.dimensions.size(); ++d) {
    for (const AxisRef& ref : sharding.dimensions[d].axes) {
      if (ref.axis < 0 || std::cmp_greater_equal(ref.axis, mesh.axes.size())) return std::nullopt;
      const int64_t size =
          ref.size == 0 ? mesh.axes[static_cast<size_t>(ref.axis)].second : ref.size;
      const auto product = CheckedMul(tiles[d], size);
      if (!product || *product < 1 || *product > devices) return std::nullopt;
      tiles[d] = *product;
      axes.push_back(ref);
    }
  }
  // Sharded axes vary fastest in the list, so neighbours there hold different tiles.
  const auto list = ListByAxes(mesh, axes, devices);
  const auto count = CheckedProduct(tiles);
  if (!list || !count || *count < 1) return std::nullopt;
  Tiling tiling{std::move(tiles), std::vector<int64_t>(static_cast<size_t>(devices), -1)};
  for (size_t i = 0; i < list->size(); ++i) {
    const int64_t device = (*list)[i];
    if (device < 0 || device >= devices) return std::nullopt;
    tiling.tile_of[static_cast<size_t>(device)] = static_cast<int64_t>(i) % *count;
  }
  return tiling;
}

}  // namespace

bool Tiling::IsReplicated() const {
  return std::ranges::all_of(tiles, [](int64_t t) { return t == 1; });
}

std::optional<Tiling> TilingOf(const Sharding& sharding, size_t rank, int64_t devices) {
  if (devices < 1) return std::nullopt;
  const std::vector<int64_t> whole(rank, 1);
  switch (sharding.kind) {
    case ShardingKind::kReplicated:
      return Tiling{whole, std::vector<int64_t>(static_cast<size_t>(devices), 0)};
    case ShardingKind::kMaximal:
      return FromList(whole, {sharding.maximal_device}, devices);
    case ShardingKind::kNamed:
      return OfNamed(sharding, rank, devices);
    case ShardingKind::kTiled:
      break;
    default:
      return std::nullopt;
  }
  const auto& dimensions = sharding.tiles.dimensions;
  if (dimensions.size() < rank ||
      std::ranges::find(sharding.last_tile_dims, SubgroupKind::kUnreduced) !=
          sharding.last_tile_dims.end()) {
    return std::nullopt;
  }
  const auto count = DeviceCount(sharding.tiles);
  if (!count || *count < 1 || *count > devices) return std::nullopt;
  const auto list = Materialize(sharding.tiles);
  if (!list || static_cast<int64_t>(list->size()) != *count) return std::nullopt;
  return FromList({dimensions.begin(), dimensions.begin() + static_cast<ptrdiff_t>(rank)}, *list,
                  devices);
}

}  // namespace hloscope::hlo
