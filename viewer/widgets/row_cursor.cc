// Keys and scrolling of a table's rows.
#include "viewer/widgets/row_cursor.h"

#include <imgui/imgui.h>
#include <imgui/imgui_internal.h>

#include <algorithm>
#include <utility>

#include "viewer/model/navigation.h"

namespace hloscope::viewer {
namespace {

// A panel that comes into view has its size some frames later.
constexpr int kFollowedFrames = 3;

int FindRow(const TableRows& rows, const std::function<bool(int)>& is_sought) {
  for (int i = 0; is_sought && i < rows.count; ++i) {
    if (is_sought(i)) return i;
  }
  return -1;
}

int FindRow(const TableRows& rows) {
  const int selected = FindRow(rows, rows.is_selected);
  return selected >= 0 ? selected : FindRow(rows, rows.is_highlighted);
}

float RowHeight() {
  return ImGui::GetTextLineHeight() + 2 * ImGui::GetCurrentTable()->RowCellPaddingY;
}

// By how many rows the keys lead on; 0: none was pressed. ImGui would go from control to control
// with them.
int StepOfKeys(const Frame& frame) {
  // The list of a combo box and a menu of the panel have the keys while they are open.
  if (!frame.focused || ImGui::GetIO().WantTextInput ||
      ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup))
    return 0;
  const ImGuiID self = ImGui::GetID("##arrows");
  const auto page = std::max(
      1, static_cast<int>(ImGui::GetCurrentTable()->InnerClipRect.GetHeight() / RowHeight()) - 2);
  const std::pair<ImGuiKey, int> keys[] = {{ImGuiKey_DownArrow, 1},
                                           {ImGuiKey_UpArrow, -1},
                                           {ImGuiKey_PageDown, page},
                                           {ImGuiKey_PageUp, -page}};
  int step = 0;
  for (const auto& [key, by] : keys) {
    ImGui::SetKeyOwner(key, self);
    if (ImGui::GetIO().KeyMods == 0 && ImGui::IsKeyPressed(key, ImGuiInputFlags_Repeat, self))
      step = by;
  }
  return step;
}

void ScrollToCurrentRow() {
  const ImGuiTable& table = *ImGui::GetCurrentTable();
  // In front of the columns that stay: a table that is scrolled sideways stays so.
  const ImGuiWindow& window = *table.InnerWindow;
  const float x = window.InnerRect.Min.x + window.DecoInnerSizeX1;
  const ImRect row(x, table.RowPosY1, x, table.RowPosY1 + RowHeight());
  ImGui::ScrollToRect(table.InnerWindow, row,
                      ImGuiScrollFlags_KeepVisibleEdgeY | ImGuiScrollFlags_NoScrollParent);
}

}  // namespace

void RowCursor::Draw(Frame& frame, const TableRows& rows) {
  Navigation& navigation = frame.context.navigation;
  if (const int step = StepOfKeys(frame); step != 0 && rows.count > 0) {
    const int from = FindRow(rows);
    rows.choose(from < 0 ? 0 : std::clamp(from + step, 0, rows.count - 1));
    Follow();  // also where the row is of nothing that can be selected
  }
  const bool is_complete = navigation.counterparts_complete();
  const bool are_first = std::exchange(had_rows_, rows.count > 0) != (rows.count > 0);
  const bool is_other = std::exchange(followed_, navigation.version()) != navigation.version();
  if (is_other) found_ = false;
  // What stands for the selection is found later than the selection itself.
  const bool is_found_now = std::exchange(was_complete_, is_complete) != is_complete && !found_;
  if (are_first || is_other || is_found_now) frames_ = kFollowedFrames;
  const int wanted = frames_ > 0 ? FindRow(rows) : -1;
  frames_ = std::max(0, frames_ - 1);
  found_ = found_ || wanted >= 0;
  ImGuiListClipper clipper;
  clipper.Begin(rows.count);
  if (wanted >= 0) clipper.IncludeItemByIndex(wanted);
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      rows.draw(i);
      if (i == wanted) ScrollToCurrentRow();
    }
  }
}

}  // namespace hloscope::viewer
