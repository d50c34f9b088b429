// What is in the group that is selected, on a card in the corner of its picture.
#pragma once

#include <imgui/imgui.h>

#include "core/graph/explain.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

// At the lower left of the canvas from `a` to `b`; nothing where the canvas is too small for it.
void DrawGroupCard(Frame& frame, const graph::Tree& tree, graph::NodeId group,
                   const graph::GroupSums& sums, ImVec2 a, ImVec2 b);

}  // namespace hloscope::viewer
