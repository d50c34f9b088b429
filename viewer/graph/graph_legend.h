// Legends: below the graphs, and of verdicts.
#pragma once

#include <imgui/imgui.h>

#include <string_view>
#include <vector>

#include "core/graph/explain.h"
#include "viewer/graph/graph_colors.h"
#include "viewer/model/verdict_table.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

inline constexpr float kMinHeightWithLegend = 240;  // of the view, in logical pixels

// 0 where there is hardly room for the pictures themselves.
float LegendHeight(Frame& frame, const std::vector<LegendEntry>& legend);
// Outlines of places that occur and say more than the colours before them; no more entries than can
// be taken in.
void AddPlaces(const Theme& theme, const analysis::Placement& placement,
               std::vector<LegendEntry>& legend);
void DrawLegend(Frame& frame, const std::vector<LegendEntry>& legend);

// What is in the group that is selected, on a card.
// At the lower left of the canvas from `a` to `b`; nothing where the canvas is too small for it.
void DrawGroupCard(Frame& frame, const graph::Tree& tree, graph::NodeId group,
                   const graph::GroupSums& sums, ImVec2 a, ImVec2 b);

// The legend of verdicts, the same for the list, the curve, the values and the graph: an entry for
// each verdict that there is any of, the worst first, with how many there are.
std::vector<LegendEntry> VerdictLegend(const Theme& theme, const VerdictCounts& counts);
// Draws it in the lines at hand; the worst says what is counted, given in the singular.
void DrawVerdictLegend(Frame& frame, const VerdictCounts& counts, std::string_view counted);

}  // namespace hloscope::viewer
