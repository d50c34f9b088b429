// Rows of two lines: the name, then value and share, over a bar on the scale of the heat.
#include "viewer/graph/heat_list.h"

#include <fmt/format.h>
#include <imgui/imgui.h>

#include <string>

#include "core/hlo/analysis/source_line.h"
#include "viewer/graph/heat_paint.h"
#include "viewer/widgets/heat_ramp.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {

void DrawHeatMenu(Frame& frame, float width) {
  const HeatMeasure now = MeasureInView(frame.context);
  ImGui::SetNextItemWidth(width);
  const bool is_open = ImGui::BeginCombo(
      "##heat", now == HeatMeasure::kOff ? "Heat: off"
                                         : fmt::format("Heat: {}", HeatRowOf(now).title).c_str());
  Help("what fills boxes, rows, lines and buffers\nShift+H");
  if (!is_open) return;
  for (const HeatRow& row : HeatRows()) {
    if (ImGui::Selectable(row.title.data(), row.measure == now))
      ChooseHeat(frame.context, row.measure);
    Help(row.help);
  }
  ImGui::EndCombo();
}

void DrawHeatList(Frame& frame, const HeatFacts& facts) {
  FittedLabel(fmt::format("Hottest: {}", HeatRowOf(facts.measure).title));
  if (!facts.missing.empty()) return Sentence(frame, facts.missing);
  const float scale = frame.scale, line = ImGui::GetTextLineHeight();
  for (size_t k = 0; k < facts.hottest.size(); ++k) {
    const hlo::InstructionId id = facts.hottest[k];
    const double value = facts.Of(id);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x, height = 2 * line + 6 * scale;
    if (ImGui::GetContentRegionAvail().y < height) break;
    const bool is_selected = frame.context.navigation.InstructionIn(facts.stage) == id;
    ImGui::PushID(static_cast<int>(k));
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
    if (ImGui::Selectable("##hot", is_selected, 0, {width, height}))
      frame.context.navigation.Select(Selection::OfInstruction(facts.module, facts.stage, id));
    ImGui::PopStyleVar();
    const std::string name = SafeText(facts.of->name(id), 120);
    const std::string source = ToString(hlo::SourceLineOf(*facts.of, id));
    Help(fmt::format("{}\n{}{}{}\nclick: select", name, HeatText(facts, value),
                     source.empty() ? "" : "\n", SafeText(source)));
    ImGui::PopID();
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float side = 10 * scale, left = at.x + side + 8 * scale;
    const uint32_t color = HeatColor(frame.theme, facts.PlaceOf(value));
    list.AddRectFilled({at.x, at.y + 3 * scale}, {at.x + side, at.y + height - 4 * scale}, color,
                       2 * scale);
    const std::string number = fmt::format("{}.", k + 1);
    const float after = left + ImGui::CalcTextSize("10. ").x;
    list.AddText({left, at.y + scale}, frame.theme[Color::kTextSecondary], number.c_str());
    list.AddText({after, at.y + scale}, frame.theme[Color::kText],
                 FittedText(name, at.x + width - after).c_str());
    list.AddText({after, at.y + line + 2 * scale}, frame.theme[Color::kTextSecondary],
                 FittedText(HeatText(facts, value), at.x + width - after).c_str());
  }
}

}  // namespace hloscope::viewer
