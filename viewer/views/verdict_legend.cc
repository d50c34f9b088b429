// Entries of the legend of verdicts.
#include "viewer/views/verdict_legend.h"

#include <fmt/format.h>

#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {

std::vector<LegendEntry> VerdictLegend(const Theme& theme, const VerdictCounts& counts) {
  std::vector<LegendEntry> legend;
  for (size_t k = kVerdictCount; k-- > 0;) {
    const auto verdict = static_cast<Verdict>(k);
    if (counts[verdict] == 0) continue;
    legend.push_back({.color = theme[ColorOf(verdict)],
                      .text = fmt::format("{} {}", ToString(verdict), CountText(counts[verdict])),
                      .verdict = verdict});
  }
  return legend;
}

void DrawVerdictLegend(Frame& frame, const VerdictCounts& counts, std::string_view counted) {
  std::vector<LegendEntry> legend = VerdictLegend(frame.theme, counts);
  if (legend.empty()) return;
  legend.front().text += fmt::format(" {}", counted);
  DrawLegend(frame, legend);
}

}  // namespace hloscope::viewer
