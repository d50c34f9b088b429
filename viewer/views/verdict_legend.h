// The legend of verdicts: the same entries for the list, the curve, the values and the graph.
#pragma once

#include <string_view>
#include <vector>

#include "viewer/model/verdict_table.h"
#include "viewer/views/graph_legend.h"

namespace hloscope::viewer {

// An entry for each verdict that there is any of, the worst first, with how many there are.
std::vector<LegendEntry> VerdictLegend(const Theme& theme, const VerdictCounts& counts);
// Draws it in the lines at hand, behind what is counted: "instructions".
void DrawVerdictLegend(Frame& frame, const VerdictCounts& counts, std::string_view counted);

}  // namespace hloscope::viewer
