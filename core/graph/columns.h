// The picture of devices: what is closed in a graph's picture, at the same heights, in a column for
// each kind of place it runs at, and what crosses between them.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "core/debug/place/placement.h"
#include "core/graph/picture.h"

namespace hloscope::graph {

enum class Column : uint8_t { kDevice, kLibrary, kCollective, kRuntime, kHostMemory, kHost };
inline constexpr int kColumnCount = 6;
std::string_view TitleOf(Column column);
// The column of a place; kRuntime for what has no code.
Column ColumnOf(debug::Place place);

// How many instructions below a node run at each place.
using PlaceCounts = std::array<uint32_t, debug::kPlaceCount>;
PlaceCounts CountPlaces(const Tree& tree, NodeId id, const debug::Placement& placement);
// Where most of them run; the host as soon as any does.
debug::Place PlaceOf(const PlaceCounts& counts);

struct ColumnSpan {
  Column column;
  float left = 0, width = 0;
  uint32_t boxes = 0;
};
struct ColumnPicture {
  Picture picture;
  std::vector<ColumnSpan> columns;  // those with any box, from left to right
};
ColumnPicture PlaceInColumns(const Tree& tree, const Picture& picture,
                             const debug::Placement& placement);

}  // namespace hloscope::graph
