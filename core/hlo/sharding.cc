// Shardings as values: XLA's canonical forms.
#include "core/hlo/sharding.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "core/hlo/tile_assignment.h"

namespace hloscope::hlo {
namespace {

// XLA's order of merged subgroups; replicated ones come last so that they can be sorted.
constexpr SubgroupKind kSubgroupOrder[] = {SubgroupKind::kMaximal, SubgroupKind::kManual,
                                           SubgroupKind::kUnreduced, SubgroupKind::kReplicated,
                                           SubgroupKind::kUnknown};

void BecomePlain(Sharding& sharding, ShardingKind kind) {
  sharding.kind = kind;
  sharding.tiles = {};
  sharding.last_tile_dims.clear();
  sharding.replicate_on_last_tile_dim = false;
}

// Sorts the groups of a sharding whose last tile dimension is replicated.
void CanonicalizeReplicatedTail(Sharding& sharding) {
  TileAssignment& tiles = sharding.tiles;
  const bool only_subgroup = sharding.last_tile_dims.size() == 1;
  if (tiles.dimensions.size() == 1 || tiles.dimensions.back() == DeviceCount(tiles)) {
    BecomePlain(sharding, ShardingKind::kReplicated);
    return;
  }
  if (tiles.dimensions.back() == 1) {
    tiles.dimensions.pop_back();
    if (only_subgroup) sharding.last_tile_dims.clear();
    return;
  }
  if (std::optional<TileAssignment> sorted = SortGroups(tiles)) tiles = *std::move(sorted);
  if (!only_subgroup) return;
  sharding.last_tile_dims.clear();
  sharding.replicate_on_last_tile_dim = true;
}

// The plain kind of a sharding all of whose devices form one subgroup.
std::optional<ShardingKind> PlainKind(const Sharding& sharding) {
  const std::vector<SubgroupKind>& kinds = sharding.last_tile_dims;
  const size_t data_rank = sharding.tiles.dimensions.size() - kinds.size();
  for (size_t d = 0; d < data_rank; ++d) {
    if (sharding.tiles.dimensions[d] != 1) return std::nullopt;
  }
  for (SubgroupKind kind : kinds) {
    if (kind != kinds[0]) return std::nullopt;
  }
  switch (kinds[0]) {
    case SubgroupKind::kManual:
      return ShardingKind::kManual;
    case SubgroupKind::kReplicated:
      return ShardingKind::kReplicated;
    case SubgroupKind::kUnreduced:
      return ShardingKind::kUnreduced;
    default:
      return std::nullopt;
  }
}

// Merges subgroup dimensions of one kind, drops those of size 1 and orders the rest. False if there
// are too many devices to rearrange.
bool MergeSubgroups(Sharding& sharding) {
  const TileAssignment& tiles = sharding.tiles;
  const size_t data_rank = tiles.dimensions.size() - sharding.last_tile_dims.size();
  std::vector<int64_t> permutation(data_rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  std::vector<int64_t> dimensions(tiles.dimensions.begin(),
                                  tiles.dimensions.begin() + static_cast<int64_t>(data_rank));
  std::vector<SubgroupKind> kinds;
  auto append = [&](auto belongs) {
    std::optional<int64_t> size;
    for (size_t i = 0; i < sharding.last_tile_dims.size(); ++i) {
      const int64_t extent = tiles.dimensions[data_rank + i];
      if (!belongs(sharding.last_tile_dims[i], extent)) continue;
      permutation.push_back(static_cast<int64_t>(data_rank + i));
      size = size.value_or(1) * extent;
    }
    return size;
  };
  for (SubgroupKind kind : kSubgroupOrder) {
    std::optional<int64_t> size =
        append([&](SubgroupKind k, int64_t extent) { return k == kind && extent != 1; });
    if (!size) continue;
    dimensions.push_back(*size);
    kinds.push_back(kind);
  }
  append([](SubgroupKind, int64_t extent) { return extent == 1; });
  std::optional<TileAssignment> merged = Transpose(tiles, permutation, std::move(dimensions));
  if (!merged) return false;
  sharding.tiles = *std::move(merged);
  sharding.last_tile_dims = std::move(kinds);
  return true;
}

bool NeedsMerging(const Sharding& sharding) {
  if (sharding.last_tile_dims.size() > 1) return true;
  return sharding.tiles.dimensions.back() == 1;
}

void CanonicalizeSubgroups(Sharding& sharding) {
  if (std::optional<ShardingKind> kind = PlainKind(sharding)) {
    BecomePlain(sharding, *kind);
    return;
  }
  if (NeedsMerging(sharding) && !MergeSubgroups(sharding)) return;
  const std::vector<SubgroupKind>& kinds = sharding.last_tile_dims;
  if (kinds.empty()) return;
  if (kinds.back() == SubgroupKind::kReplicated) {
    CanonicalizeReplicatedTail(sharding);
  } else if (kinds.size() == 1 && kinds[0] == SubgroupKind::kManual &&
             sharding.tiles.dimensions.back() == DeviceCount(sharding.tiles)) {
    BecomePlain(sharding, ShardingKind::kManual);
  }
}

}  // namespace

void Canonicalize(Sharding& sharding) {
  for (Sharding& element : sharding.elements) Canonicalize(element);
  if (sharding.kind != ShardingKind::kTiled) return;
  TileAssignment& tiles = sharding.tiles;
  if (tiles.iota) Canonicalize(*tiles.iota);
  if (sharding.replicate_on_last_tile_dim) {
    sharding.replicate_on_last_tile_dim = false;
    sharding.last_tile_dims = {SubgroupKind::kReplicated};
  }
  if (sharding.last_tile_dims.empty()) return;
  if (std::ranges::any_of(tiles.dimensions, [](int64_t d) { return d <= 0; })) return;
  CanonicalizeSubgroups(sharding);
}

}  // namespace hloscope::hlo
