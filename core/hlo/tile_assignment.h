// TileAssignments rearranged: transposed and with sorted groups, as XLA's sharding constructors do.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/hlo/sharding.h"

namespace hloscope::hlo {

// All devices in row-major order; nullopt if there are more than a million.
std::optional<std::vector<int64_t>> Materialize(const TileAssignment& tiles);

// `tiles` with its dimensions permuted and then given the sizes `new_dimensions`, of equal product.
// Symbolic where that is possible, else listed; nullopt if there are too many devices to list.
std::optional<TileAssignment> Transpose(const TileAssignment& tiles,
                                        std::span<const int64_t> permutation,
                                        std::vector<int64_t> new_dimensions);

// `tiles` with the devices of each group along the last dimension in ascending order; nullopt if
// there are too many devices to list.
std::optional<TileAssignment> SortGroups(const TileAssignment& tiles);

}  // namespace hloscope::hlo
