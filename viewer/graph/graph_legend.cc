// Entries in lines, as many as fit side by side.
#include "viewer/graph/graph_legend.h"

#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <string>

#include "core/graph/count_text.h"
#include "viewer/graph/graph_outline.h"
#include "viewer/model/number_text.h"
#include "viewer/widgets/verdict_mark.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

constexpr std::ptrdiff_t kMaxEntries = 10;
constexpr size_t kBars = 6;
constexpr float kCardWidth = 250, kMinCardRoom = 300, kBarsFrom = 130, kCardPadding = 8;
constexpr float kOutlineWidth = 2.2f;  // of an outline, in widths of a filled square

float EntryWidth(Frame& frame, const LegendEntry& entry) {
  const float square = ImGui::GetTextLineHeight() * 0.6f;
  return (entry.outline ? kOutlineWidth : 1.0f) * square + 6 * frame.scale +
         ImGui::CalcTextSize(entry.text.c_str()).x;
}

// Squares without text belong to the one after them.
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
  if (ImGui::GetContentRegionAvail().y < kMinHeightWithLegend * frame.scale) return 0;
  const int lines = ForEachEntry(frame, legend, ImGui::GetContentRegionAvail().x,
                                 [](const LegendEntry&, bool) {});
  return static_cast<float>(lines) * (ImGui::GetTextLineHeight() + 2 * frame.scale) +
         6 * frame.scale;
}

void AddPlaces(const Theme& theme, const analysis::Placement& placement,
               std::vector<LegendEntry>& legend) {
  using analysis::Place;
  auto named = std::ranges::count_if(legend, [](const LegendEntry& e) { return !e.text.empty(); });
  const auto is_said = [&](std::string_view text) {
    return std::ranges::find(legend, text, &LegendEntry::text) != legend.end();
  };
  for (size_t k = 0; k < placement.counts.size(); ++k) {
    const auto place = static_cast<Place>(k);
    const graph::PlaceLook& look = graph::LookOf(place);
    // Plain boxes need no word.
    const bool is_plain = place == Place::kUndecided || place == Place::kDeviceKernel ||
                          place == Place::kInKernel || place == Place::kNoCode;
    const bool is_between = place == Place::kCollective && is_said("between devices");
    if (placement.counts[k] == 0 || is_plain || is_between || is_said(look.text) ||
        named >= kMaxEntries)
      continue;
    ++named;
    legend.push_back({PlaceColor(theme, place), std::string(look.text), look.outline});
  }
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
                 if (entry.verdict) {
                   DrawVerdictMark(list, {at.x + side / 2, at.y + height / 2}, side / 2,
                                   frame.theme, *entry.verdict);
                 } else if (entry.outline) {
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

// Name, sums, and a bar for each of the most frequent opcodes.
void DrawGroupCard(Frame& frame, const graph::Tree& tree, graph::NodeId group,
                   const graph::GroupSums& sums, ImVec2 a, ImVec2 b) {
  const float scale = frame.scale, line = ImGui::GetTextLineHeight() + 2 * scale;
  if (b.x - a.x < kMinCardRoom * scale || b.y - a.y < kMinCardRoom * scale) return;
  const size_t bars = std::min(sums.opcodes.size(), kBars);
  const bool more = sums.opcodes.size() > bars;
  const float pad = kCardPadding * scale, width = kCardWidth * scale;
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
  text(frame.font, left, Color::kText, graph::CountedText(tree[group].instructions, "instruction"));
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
         "and " + graph::CountedText(sums.opcodes.size() - bars, "more opcode"));
  }
}

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
  const Verdict first = *legend.front().verdict;
  legend.front().text =
      fmt::format("{} {}", ToString(first), graph::CountedText(counts[first], counted));
  DrawLegend(frame, legend);
}

}  // namespace hloscope::viewer
