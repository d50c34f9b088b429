// Shapes that are distinct without their colours.
#include "viewer/widgets/verdict_mark.h"

#include <imgui/imgui.h>

#include <algorithm>

#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

float MarkRadius() { return ImGui::GetTextLineHeight() * 0.3F; }

}  // namespace

void DrawVerdictMark(ImDrawList& list, ImVec2 middle, float radius, const Theme& theme,
                     Verdict verdict) {
  const ImU32 color = theme[ColorOf(verdict)];
  const float x = middle.x, y = middle.y, r = radius, line = std::max(1.5F, radius * 0.4F);
  switch (MarkOf(verdict)) {
    case VerdictMark::kDash:
      return list.AddLine({x - r, y}, {x + r, y}, color, line);
    case VerdictMark::kDot:
      return list.AddCircleFilled(middle, r * 0.55F, color);
    case VerdictMark::kRing:
      return list.AddCircle(middle, r * 0.8F, color, 0, line);
    case VerdictMark::kDisc:
      return list.AddCircleFilled(middle, r, color);
    case VerdictMark::kDiamond:
      return list.AddQuadFilled({x, y - 1.25F * r}, {x + 1.25F * r, y}, {x, y + 1.25F * r},
                                {x - 1.25F * r, y}, color);
    case VerdictMark::kTriangle:
      return list.AddTriangleFilled({x, y - 1.2F * r}, {x + 1.2F * r, y + r}, {x - 1.2F * r, y + r},
                                    color);
    case VerdictMark::kCross:
      list.AddLine({x - r, y - r}, {x + r, y + r}, color, line);
      return list.AddLine({x - r, y + r}, {x + r, y - r}, color, line);
  }
}

void VerdictLabel(Frame& frame, Verdict verdict) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = ImGui::GetTextLineHeight(), radius = MarkRadius();
  DrawVerdictMark(*ImGui::GetWindowDrawList(), {at.x + 1.3F * radius, at.y + height / 2}, radius,
                  frame.theme, verdict);
  ImGui::Dummy({2.6F * radius, height});
  ImGui::SameLine(0, 5 * frame.scale);
  Label(frame.theme, StandsOut(verdict) ? Color::kText : Color::kTextSecondary, ToString(verdict));
  ImGui::SetItemTooltip("%s", std::string(Describe(verdict)).c_str());
}

float VerdictLabelWidth(Frame& frame, std::string_view words) {
  return 2.6F * MarkRadius() + 5 * frame.scale +
         ImGui::CalcTextSize(words.data(), words.data() + words.size()).x;
}

}  // namespace hloscope::viewer
