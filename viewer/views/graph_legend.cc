// Entries in lines, as many as fit beside one another.
#include "viewer/views/graph_legend.h"

#include <imgui/imgui.h>

#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

float EntryWidth(Frame& frame, const LegendEntry& entry) {
  return ImGui::GetTextLineHeight() * 0.6f + 6 * frame.scale +
         ImGui::CalcTextSize(entry.text.c_str()).x;
}

// Calls visit(entry, first of a line) and returns how many lines there are.
template <typename Visit>
int ForEachEntry(Frame& frame, const std::vector<LegendEntry>& legend, float width, Visit visit) {
  const float gap = 14 * frame.scale;
  float x = 0;
  int lines = 1;
  for (const LegendEntry& entry : legend) {
    const float each = EntryWidth(frame, entry);
    const bool wraps = x > 0 && x + each > width;
    lines += wraps ? 1 : 0;
    visit(entry, x == 0 || wraps);
    x = (wraps ? 0 : x) + each + gap;
  }
  return lines;
}

}  // namespace

float LegendHeight(Frame& frame, const std::vector<LegendEntry>& legend) {
  if (ImGui::GetContentRegionAvail().y < kLeastHeightWithLegend * frame.scale) return 0;
  const int lines = ForEachEntry(frame, legend, ImGui::GetContentRegionAvail().x,
                                 [](const LegendEntry&, bool) {});
  return static_cast<float>(lines) * (ImGui::GetTextLineHeight() + 2 * frame.scale) +
         6 * frame.scale;
}

void DrawLegend(Frame& frame, const std::vector<LegendEntry>& legend) {
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 2 * frame.scale));
  const float height = ImGui::GetTextLineHeight(), side = height * 0.6f;
  ForEachEntry(
      frame, legend, ImGui::GetContentRegionAvail().x, [&](const LegendEntry& entry, bool first) {
        if (!first) ImGui::SameLine(0, 14 * frame.scale);
        const ImVec2 at = ImGui::GetCursorScreenPos();
        ImGui::GetWindowDrawList()->AddRectFilled({at.x, at.y + height * 0.2f},
                                                  {at.x + side, at.y + height * 0.2f + side},
                                                  entry.color, 2);
        ImGui::Dummy({side + 4 * frame.scale, height});
        ImGui::SameLine(0, 2 * frame.scale);
        Label(frame.theme, Color::kTextSecondary, entry.text);
      });
  ImGui::PopStyleVar();
}

}  // namespace hloscope::viewer
