// Several dressed pictures on one sheet, as a window shows them side by side.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/graph/looks.h"
#include "core/graph/svg.h"

namespace hloscope::graph {

struct SvgPane {
  FoldableGraph* graph = nullptr;
  SvgOptions options;
  std::vector<NodeId> shown;  // the boxes that stand for the kernel that is shown
};

struct SvgLegendEntry {
  uint32_t color = 0;  // 0xRRGGBB
  std::string text;    // empty: one more colour of the entry after it
  std::optional<Outline> outline;
};

struct SvgSheet {
  std::string headline, loud, shown;  // sentences above; `loud` goes on the headline, in the host's
  uint32_t shown_color = 0;           // of the ribbon between the pictures
  SvgColors colors;
  std::vector<SvgLegendEntry> legend;  // below
};

std::string ToSvg(std::span<SvgPane> panes, const SvgSheet& sheet);

}  // namespace hloscope::graph
