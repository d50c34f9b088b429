// The card: name, sums, and a bar for each of the most frequent opcodes.
#include "viewer/views/graph_card.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/base/counted.h"
#include "viewer/model/number_text.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

constexpr size_t kBars = 6;
constexpr float kWidth = 250, kLeastRoom = 300, kBarsFrom = 130, kPadding = 8;

}  // namespace

void DrawGroupCard(Frame& frame, const graph::Tree& tree, graph::NodeId group,
                   const graph::GroupSums& sums, ImVec2 a, ImVec2 b) {
  const float scale = frame.scale, line = ImGui::GetTextLineHeight() + 2 * scale;
  if (b.x - a.x < kLeastRoom * scale || b.y - a.y < kLeastRoom * scale) return;
  const size_t bars = std::min(sums.opcodes.size(), kBars);
  const bool more = sums.opcodes.size() > bars;
  const float pad = kPadding * scale, width = kWidth * scale;
  const float height = line * static_cast<float>(3 + bars + (more ? 1 : 0)) + 2 * pad;
  const ImVec2 corner(a.x + pad, b.y - pad - height);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddRectFilled(corner, {corner.x + width, b.y - pad}, frame.theme.With(Color::kPanel, 0.96f),
                     4 * scale);
  list.AddRect(corner, {corner.x + width, b.y - pad}, frame.theme[Color::kLine], 4 * scale);
  float y = corner.y + pad;
  const float left = corner.x + pad, right = corner.x + width - pad;
  const ImVec4 clip(left, corner.y, right, b.y);
  const auto text = [&](ImFont* font, float x, Color color, const std::string& what) {
    list.AddText(font, ImGui::GetFontSize(), {x, y}, frame.theme[color], what.c_str(), nullptr, 0,
                 &clip);
  };
  text(frame.strong, left, Color::kText, FittedText(tree.Title(group), right - left));
  y += line;
  text(frame.font, left, Color::kText, Counted(tree[group].instructions, "instruction"));
  y += line;
  text(frame.font, left, Color::kTextSecondary, FittedText(CostText(sums), right - left));
  const auto most = static_cast<float>(bars > 0 ? sums.opcodes.front().second : 1);
  for (size_t k = 0; k < bars; ++k) {
    y += line;
    const auto& [opcode, count] = sums.opcodes[k];
    const std::string number = CountText(count);
    const float begin = left + kBarsFrom * scale;
    const float room = right - begin - ImGui::CalcTextSize(number.c_str()).x - 6 * scale;
    const float end = begin + std::max(room * static_cast<float>(count) / most, scale);
    text(frame.font, left, Color::kText,
         FittedText(hlo::ToString(opcode), begin - left - 4 * scale));
    list.AddRectFilled({begin, y + 3 * scale}, {end, y + line - 4 * scale},
                       frame.theme[ColorOf(opcode)]);
    text(frame.font, end + 4 * scale, Color::kTextSecondary, number);
  }
  y += line;
  if (more) {
    text(frame.font, left, Color::kTextSecondary,
         "and " + Counted(sums.opcodes.size() - bars, "more opcode"));
  }
}

}  // namespace hloscope::viewer
