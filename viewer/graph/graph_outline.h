// Outlines by place: shape and colour both show where a node runs.
#pragma once

#include <imgui/imgui.h>

#include "core/graph/looks.h"
#include "viewer/widgets/theme.h"

namespace hloscope::viewer {

struct BoxStyle;

uint32_t PlaceColor(const Theme& theme, analysis::Place place);

// The outline of a box from `a` to `b`; `zoom` scales its corners, `line` is the width of a thin
// line in pixels.
void DrawOutline(ImDrawList& list, ImVec2 a, ImVec2 b, graph::Outline outline, uint32_t color,
                 float zoom, float line);

// Of what is in a kernel, that of the kernel; the host and what moves data keep their own.
uint32_t OutlineColor(const Theme& theme, const BoxStyle& style);

}  // namespace hloscope::viewer
