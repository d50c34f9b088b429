// Tiling: a sharding written out as which device holds which tile of an array.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/hlo/sharding.h"

namespace hloscope::hlo {

struct Tiling {
  std::vector<int64_t> tiles;    // how many along each dimension
  std::vector<int64_t> tile_of;  // by device: row-major number of its tile; -1: it holds none
  bool IsReplicated() const;
};

// How `devices` devices hold an array of `rank` dimensions; devices along replicated, manual and
// other subgroup dimensions hold the same tile. Nullopt for shardings that say nothing about it
// (manual, unknown, unreduced, tuples), malformed ones, and ones of more than `devices` devices.
std::optional<Tiling> TilingOf(const Sharding& sharding, size_t rank, int64_t devices);

}  // namespace hloscope::hlo
