// The legend below the graphs.
#pragma once

#include <vector>

#include "viewer/views/graph_colors.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

inline constexpr float kLeastHeightWithLegend = 240;  // of the view, in logical pixels

// 0 where there is hardly room for the pictures themselves.
float LegendHeight(Frame& frame, const std::vector<LegendEntry>& legend);
void DrawLegend(Frame& frame, const std::vector<LegendEntry>& legend);

}  // namespace hloscope::viewer
