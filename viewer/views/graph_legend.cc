// Entries in lines, as many as fit beside one another.
#include "viewer/views/graph_legend.h"

#include <imgui/imgui.h>

#include "viewer/views/graph_outline.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

constexpr float kOutlineWidth = 2.2f;  // of an outline, in widths of a filled square

float EntryWidth(Frame& frame, const LegendEntry& entry) {
  const float square = ImGui::GetTextLineHeight() * 0.6f;
  return (entry.outline ? kOutlineWidth : 1.0f) * square + 6 * frame.scale +
         ImGui::CalcTextSize(entry.text.c_str()).x;
}

// Squares without a text belong to the one after them.
float GapAfter(Frame& frame, const LegendEntry& entry) {
  return (entry.text.empty() ? 1.0f : 14.0f) * frame.scale;
}

// Calls visit(entry, first of a line) and returns how many lines there are.
template <typename Visit>
int ForEachEntry(Frame& frame, const std::vector<LegendEntry>& legend, float width, Visit visit) {
  float x = 0;
  int lines = 1;
  for (const LegendEntry& entry : legend) {
    const float each = EntryWidth(frame, entry);
    const bool wraps = x > 0 && x + each > width;
    lines += wraps ? 1 : 0;
    visit(entry, x == 0 || wraps);
    x = (wraps ? 0 : x) + each + GapAfter(frame, entry);
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
  float gap = 0;
  ForEachEntry(frame, legend, ImGui::GetContentRegionAvail().x,
               [&](const LegendEntry& entry, bool first) {
                 if (!first) ImGui::SameLine(0, gap);
                 gap = GapAfter(frame, entry);
                 const ImVec2 at = ImGui::GetCursorScreenPos();
                 ImDrawList& list = *ImGui::GetWindowDrawList();
                 const ImVec2 a(at.x, at.y + height * 0.2f);
                 const float wide = entry.outline ? kOutlineWidth * side : side;
                 const ImVec2 b(at.x + wide, a.y + side);
                 if (entry.outline) {
                   DrawOutline(list, a, b, *entry.outline, entry.color, 0.4f * frame.scale,
                               0.9f * frame.scale);
                 } else {
                   list.AddRectFilled(a, b, entry.color, 2);
                 }
                 ImGui::Dummy({wide + 4 * frame.scale, height});
                 if (entry.text.empty()) return;
                 ImGui::SameLine(0, 2 * frame.scale);
                 Label(frame.theme, Color::kTextSecondary, entry.text);
               });
  ImGui::PopStyleVar();
}

}  // namespace hloscope::viewer
