// Rows that open.
#include "viewer/views/equal_rows.h"

#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>

#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {

void EqualRows::Draw(Frame& frame, const std::vector<ModuleFacts::Equals>& rows, int32_t module,
                     int32_t stage) {
  constexpr size_t kMax = 8;
  for (size_t i = 0; i < std::min(kMax, rows.size()); ++i) {
    ImGui::PushID(static_cast<int>(i));
    if (rows[i].count > 1) {
      DrawGroup(frame, rows[i], module, stage);
    } else {
      const ModuleFacts::Moved& one = rows[i].some.front();
      DrawOne(frame, one, EqualsText(rows[i]),
              Selection::OfInstruction(module, stage, one.instruction));
    }
    ImGui::PopID();
  }
  int64_t left = 0;
  for (size_t i = kMax; i < rows.size(); ++i) left += rows[i].count;
  if (left > 0) Sentence(frame, fmt::format("and {} more", CountText(left)));
}

void EqualRows::DrawOne(Frame& frame, const ModuleFacts::Moved& one, const std::string& text,
                        const Selection& selection) {
  if (ImGui::Selectable("##one", frame.context.navigation.selection() == selection))
    frame.context.navigation.Select(selection);
  Help("select this instruction on all screens");
  ImGui::SameLine(0, 0);
  Label(one.name);
  ImGui::SameLine(0, 12 * frame.scale);
  ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kTextSecondary]);
  FittedLabel(text);
  ImGui::PopStyleColor();
}

void EqualRows::DrawGroup(Frame& frame, const ModuleFacts::Equals& group, int32_t module,
                          int32_t stage) {
  ImGui::SetNextItemOpen(opened_.contains(group.why));
  const std::string title = EqualsText(group);
  const float room = ImGui::GetContentRegionAvail().x - ImGui::GetTreeNodeToLabelSpacing();
  const std::string fitted = FittedText(title, room);
  const bool is_open =
      ImGui::TreeNodeEx("##group", ImGuiTreeNodeFlags_SpanAvailWidth, "%s", fitted.c_str());
  fitted == title ? Help("expand or collapse") : WholeIfCut(title, fitted);
  if (ImGui::IsItemToggledOpen()) {
    if (!opened_.erase(group.why)) opened_.insert(group.why);
  }
  if (!is_open) return;
  for (size_t i = 0; i < group.some.size(); ++i) {
    const ModuleFacts::Moved& one = group.some[i];
    ImGui::PushID(static_cast<int>(i));
    DrawOne(frame, one, one.bytes < 0 ? std::string() : BytesText(one.bytes),
            Selection::OfInstruction(module, stage, one.instruction));
    ImGui::PopID();
  }
  const int64_t left = group.count - std::ssize(group.some);
  if (left > 0) Sentence(frame, fmt::format("and {} more", CountText(left)));
  ImGui::TreePop();
}

std::string EqualRows::Opened() const {
  std::string text;
  for (const std::string& each : opened_) text += each + "\n";
  return text;
}

void EqualRows::SetOpened(std::string_view opened) {
  opened_.clear();
  while (!opened.empty()) {
    const std::string_view line = opened.substr(0, opened.find('\n'));
    opened_.emplace(line);
    opened.remove_prefix(std::min(line.size() + 1, opened.size()));
  }
}

}  // namespace hloscope::viewer
