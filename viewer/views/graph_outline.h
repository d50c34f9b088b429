// Outlines by place: shape and colour both tell where a node runs.
#pragma once

#include <imgui/imgui.h>

#include "core/graph/looks.h"
#include "viewer/widgets/theme.h"

namespace hloscope::viewer {

uint32_t PlaceColor(const Theme& theme, debug::Place place);

// The outline of a box from `a` to `b`; `zoom` scales its corners, `line` is the width of a thin
// line in pixels.
void DrawOutline(ImDrawList& list, ImVec2 a, ImVec2 b, graph::Outline outline, uint32_t color,
                 float zoom, float line);

}  // namespace hloscope::viewer
