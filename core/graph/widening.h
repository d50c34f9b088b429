// Boxes as wide as their texts where their row has room: a picture that is squeezed into a pane
// leaves less for a name than it was laid out with.
#pragma once

#include <span>
#include <vector>

#include "core/graph/layout.h"

namespace hloscope::graph {

struct Extent {
  float left = 0, right = 0;
};

/// Of the nodes of a layout, the first `wanted.size()` of which may grow to the width that is
/// wanted of them: into free room of their row, and no nearer than `gap` to other nodes, to edges
/// that pass and to the border of the layout. Nobody's centre has to stay; edges end where they
/// did.
std::vector<Extent> Widened(const FlatLayout& layout, std::span<const FlatNode> nodes,
                            std::span<const float> wanted, float gap);

}  // namespace hloscope::graph
