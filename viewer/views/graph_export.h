// The pictures of the graph on one sheet of SVG.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/graph/svg_sheet.h"
#include "viewer/views/graph_colors.h"

namespace hloscope::viewer {

// What is said above the pictures; `loud` ends the headline in the colour of the host.
struct SheetWords {
  std::string headline, loud, shown;
};

// `panes` as GraphLens::ToPane gives them; `shown_color` of the ribbon, as ImGui has colours.
std::string ToSheet(std::vector<graph::SvgPane> panes, const SheetWords& words, const Theme& theme,
                    uint32_t shown_color, std::span<const LegendEntry> legend);

}  // namespace hloscope::viewer
