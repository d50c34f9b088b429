#include "viewer/views/change_words.h"

#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <iterator>

#include "core/graph/count_text.h"
#include "viewer/views/change_looks.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {

using graph::NodeId;
using graph::Side;

std::string NameIn(const ChangeDrawing& drawing, Side side, NodeId id) {
  if (!id.valid()) return {};
  const hlo::InstructionId instruction = (*drawing.graph)[id][side];
  return instruction.valid() ? std::string(drawing.graph->module(side).name(instruction))
                             : std::string();
}

std::string ToCsv(const ChangeDrawing& drawing) {
  std::string out = "change,before,after,x,y,width,height,open\n";
  for (uint32_t n = 0; n < drawing.graph->size(); ++n) {
    const graph::Box* box = drawing.picture.Find(NodeId(n));
    if (box == nullptr) continue;
    const graph::ChangeNode& node = (*drawing.graph)[NodeId(n)];
    out += fmt::format("{},{},{},{},{},{},{},{}\n",
                       node.is_replaced() ? "replaced" : ToString(node.kind),
                       CsvCell(NameIn(drawing, Side::kBefore, NodeId(n))),
                       CsvCell(NameIn(drawing, Side::kAfter, NodeId(n))), box->x, box->y,
                       box->width, box->height, box->open ? 1 : 0);
  }
  return out;
}

std::vector<LegendEntry> ChangeLegend(const Theme& theme, const analysis::ChangeCounts& counts,
                                      const HeatPaint* heat) {
  std::vector<LegendEntry> legend;
  for (const ChangeLook& look : kChangeLooks) {
    const int64_t count = CountOf(counts, look.kind);
    if (count == 0) continue;
    legend.push_back({theme[look.color],
                      fmt::format("{} {} {}", look.sign, CountText(count), ToString(look.kind)),
                      look.outline});
  }
  legend.push_back({theme[Color::kLine], fmt::format("{} unchanged", CountText(counts.unchanged))});
  legend.push_back(
      {theme[Color::kTextDisabled], "only on the other side", graph::Outline::kDashed});
  if (heat != nullptr)
    std::ranges::copy(HeatLegend(theme, heat->facts()), std::back_inserter(legend));
  return legend;
}

void DrawWhatIsLeftOut(Frame& frame, const graph::ChangePicture& picture, size_t changes) {
  std::string text;
  const auto all = static_cast<int64_t>(changes);
  if (picture.changes < all)
    text = fmt::format("{} of {} shown; ", CountText(picture.changes),
                       graph::CountedText(all, "change"));
  if (picture.hidden > 0)
    text += graph::CountedText(picture.hidden, "unchanged instruction is not shown",
                               "unchanged instructions are not shown");
  if (text.empty()) return;
  SameLineIfRoom(ImGui::CalcTextSize(text.c_str()).x);
  ImGui::AlignTextToFramePadding();
  ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kTextSecondary]);
  FittedLabel(text);
  ImGui::PopStyleColor();
}

NodeId NextChange(std::span<const NodeId> changes, NodeId selected, int by) {
  const auto at = std::ranges::lower_bound(changes, selected);
  const bool is_change = selected.valid() && at != changes.end() && *at == selected;
  ptrdiff_t next = by > 0 ? at - changes.begin() + (is_change ? 1 : 0) : at - changes.begin() - 1;
  if (!selected.valid()) next = by > 0 ? 0 : std::ssize(changes) - 1;
  next = std::clamp<ptrdiff_t>(next, 0, std::ssize(changes) - 1);
  return changes[static_cast<size_t>(next)];
}

}  // namespace hloscope::viewer
