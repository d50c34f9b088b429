// Colours, links and what is shown.
#include "viewer/graph/graph_look.h"

#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>

#include "viewer/graph/heat_list.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

constexpr float kHeatMenu = 220, kNarrowHeatMenu = 180, kColorMenu = 140;  // logical pixels

void ToggleButton(const char* label, bool& value, const char* help) {
  const bool was = value;
  if (was) ImGui::PushStyleColor(ImGuiCol_Button, ImGui::GetStyleColorVec4(ImGuiCol_ButtonActive));
  if (ImGui::Button(label)) value = !value;
  if (was) ImGui::PopStyleColor();
  Help(help);
}

}  // namespace

std::string GraphLook::Text() const {
  return fmt::format("{} {} {} {}{}{} {}", static_cast<int>(mode), linked ? 1 : 0, minimap ? 1 : 0,
                     shown[kSource] ? 1 : 0, shown[kFusions] ? 1 : 0, shown[kDevices] ? 1 : 0,
                     contents ? 1 : 0);
}

void GraphLook::SetText(std::string_view text) {
  if (text.size() != 11) return;
  const int number = text[0] - '0';
  if (number < 0 || number > 9) return;
  // Earlier versions had more of them.
  const bool is_known = static_cast<size_t>(number) < ColorModeRows().size();
  mode = is_known ? static_cast<ColorMode>(number) : ColorMode::kKernel;
  linked = text[2] == '1';
  minimap = text[4] == '1';
  for (size_t k = 0; k < kShownCount; ++k) shown[k] = text[6 + k] == '1';
  contents = text[10] == '1';
  if (std::ranges::count(shown, true) == 0) shown[kFusions] = true;
}

std::vector<size_t> GraphLook::ShownNow(bool has_source) const {
  std::vector<size_t> now;
  for (size_t k = 0; k < kShownCount; ++k) {
    if (IsShown(k, has_source)) now.push_back(k);
  }
  if (now.empty()) now.push_back(kFusions);
  return now;
}

void GraphLook::Toggle(size_t which) {
  shown[which] = !shown[which];
  if (std::ranges::count(shown, true) == 0) shown[which] = true;
}

bool GraphLook::Run(Command command) {
  switch (command) {
    case Command::kGraphColor:
      mode = static_cast<ColorMode>((static_cast<size_t>(mode) + 1) % ColorModeRows().size());
      return true;
    case Command::kGraphHeat:
      mode = ColorMode::kError;
      return true;
    case Command::kGraphLink:
      linked = !linked;
      return true;
    case Command::kGraphContents:
      contents = !contents;
      return true;
    case Command::kGraphMinimap:
      minimap = !minimap;
      return true;
    case Command::kGraphSource:
      Toggle(kSource);
      return true;
    case Command::kGraphFusions:
      Toggle(kFusions);
      return true;
    case Command::kGraphDevices:
      Toggle(kDevices);
      return true;
    default:
      return false;
  }
}

void DrawLookBar(Frame& frame, GraphLook& look, const LookBarRoom& room) {
  const float heat = (room.is_narrow ? kNarrowHeatMenu : kHeatMenu) * frame.scale;
  if (room.is_large) {
    ToggleButton("Contents", look.contents, "the program as rows, or as graphs\n4");
    SameLineIfRoom(heat);
    DrawHeatMenu(frame, heat);
    if (room.shows_rows) return;
    SameLineIfRoom(ButtonWidth(kGraphTitles[0]));
  }
  const size_t first = room.has_source ? kSource : kFusions;
  for (size_t k = first; k < kShownCount; ++k) {
    if (k > first) SameLineIfRoom(ButtonWidth(kGraphTitles[k]));
    bool value = look.shown[k];
    ToggleButton(kGraphTitles[k], value, "show or hide this graph\n1, 2, 3");
    if (value != look.shown[k]) look.Toggle(k);
  }
  if (!room.is_large) {
    SameLineIfRoom(heat);
    DrawHeatMenu(frame, heat);
  }
  if (room.is_narrow) return;
  SameLineIfRoom(kColorMenu * frame.scale);
  DrawColorMenu(frame, look);
  SameLineIfRoom(ButtonWidth("Link"));
  DrawCameraButtons(look, true);
}

void DrawColorMenu(Frame& frame, GraphLook& look) {
  ImGui::SetNextItemWidth(kColorMenu * frame.scale);
  ImGui::BeginDisabled(MeasureInView(frame.context) != HeatMeasure::kOff);
  const bool is_open =
      ImGui::BeginCombo("##colour", ColorModeRows()[static_cast<size_t>(look.mode)].title.data());
  ImGui::EndDisabled();
  Help("meaning of box colours, while heat is off\nC");
  if (!is_open) return;
  for (const ColorModeRow& row : ColorModeRows()) {
    if (ImGui::Selectable(row.title.data(), row.mode == look.mode)) look.mode = row.mode;
  }
  ImGui::EndCombo();
}

void DrawCameraButtons(GraphLook& look, bool side_by_side) {
  ToggleButton("Link", look.linked, "link the cameras of the graphs\nL");
  if (side_by_side) SameLineIfRoom(ButtonWidth("Minimap"));
  ToggleButton("Minimap", look.minimap, "show or hide the minimap\nM");
}

}  // namespace hloscope::viewer
