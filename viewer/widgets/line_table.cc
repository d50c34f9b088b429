// LineTable: in the order of the text, the share as a bar in the background of the number.
#include "viewer/widgets/line_table.h"

#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <array>

#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using profiler::LineCounting;
using profiler::PtxLine;
using profiler::PtxLines;

// "long_scoreboard 61 %, wait 20 %".
std::string StallsText(const PtxLine& line, size_t most) {
  std::string out;
  for (const auto& [word, count] : line.MostStalls()) {
    if (most-- == 0) break;
    out += fmt::format("{}{} {:.0f} %", out.empty() ? "" : ", ", word,
                       100 * static_cast<double>(count) / static_cast<double>(line.count));
  }
  return out;
}

// What the widest bar stands for is the hottest line.
void DrawCount(Frame& frame, uint64_t count, uint64_t most) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float share = most == 0 ? 0 : static_cast<float>(count) / static_cast<float>(most);
  const float width = ImGui::GetContentRegionAvail().x;
  ImGui::GetWindowDrawList()->AddRectFilled(
      at, {at.x + width * share, at.y + ImGui::GetTextLineHeight()},
      ImGui::GetColorU32(frame.theme[Color::kPlaceKernel], 0.3F));
  RightLabel(CountText(static_cast<int64_t>(count)));
}

// An instruction has one kernel, or a second that ends it.
std::string HeadText(const PtxLines& lines) {
  const std::vector<const PtxLine*> all = lines.InOrder();
  std::string kernels = all.front()->kernel;
  if (all.back()->kernel != kernels) kernels += " and " + all.back()->kernel;
  return lines.counting() == LineCounting::kSamples
             ? fmt::format("PTX of {} by line: {} program counter samples, from separate runs",
                           kernels, CountText(static_cast<int64_t>(lines.total())))
             : fmt::format(
                   "PTX of {} by line: {} warp instructions on the simulated GPU (counts, not "
                   "time)",
                   kernels, CountText(static_cast<int64_t>(lines.total())));
}

}  // namespace

const PtxLine* DrawLineTable(Frame& frame, const PtxLines& lines) {
  const bool is_sampled = lines.counting() == LineCounting::kSamples;
  Label(HeadText(lines));
  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg |
                                     ImGuiTableFlags_Resizable | ImGuiTableFlags_BordersInnerV |
                                     ImGuiTableFlags_SizingFixedFit;
  const int columns = is_sampled ? 5 : 4;
  if (!ImGui::BeginTable("##lines", columns, kFlags)) return nullptr;
  ImGui::TableSetupScrollFreeze(0, 1);
  ImGui::TableSetupColumn(is_sampled ? "samples" : "executed", 0, 82 * frame.scale);
  ImGui::TableSetupColumn("share", 0, 54 * frame.scale);
  if (is_sampled) ImGui::TableSetupColumn("stall reasons", 0, 170 * frame.scale);
  ImGui::TableSetupColumn("line", 0, 46 * frame.scale);
  ImGui::TableSetupColumn("PTX", ImGuiTableColumnFlags_WidthStretch);
  static constexpr std::array kSampled = {
      "program counter samples in this line", "share of the kernel's samples",
      "stall reasons of the sampled warps, most frequent first", "line number; .entry is line 1",
      "PTX line; click to go there"};
  static constexpr std::array kExecuted = {"executions by warps", "share of all executions",
                                           "line number; .entry is line 1",
                                           "PTX line; click to go there"};
  is_sampled ? HeaderRow(kSampled) : HeaderRow(kExecuted);
  const std::vector<const PtxLine*> all = lines.InOrder();
  const uint64_t most = (*std::ranges::max_element(all, {}, &PtxLine::count))->count;
  const PtxLine* clicked = nullptr;
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(all.size()));
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      const PtxLine& line = *all[static_cast<size_t>(i)];
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      if (Row(frame, fmt::format("##line{}", i), false, false)) clicked = &line;
      ImGui::SameLine(0, 0);
      DrawCount(frame, line.count, most);
      ImGui::TableNextColumn();
      RightLabel(fmt::format("{:.1f} %", 100 * lines.ShareOf(line)));
      if (is_sampled) {
        ImGui::TableNextColumn();
        FittedLabel(StallsText(line, 3));
      }
      ImGui::TableNextColumn();
      RightLabel(line.line == 0 ? "" : std::to_string(line.line));
      ImGui::TableNextColumn();
      ImGui::PushFont(frame.mono, 0);
      FittedLabel(line.line == 0 ? "(unknown line)" : line.text);
      ImGui::PopFont();
    }
  }
  ImGui::EndTable();
  return clicked;
}

std::string LinesCsv(const PtxLines& lines) {
  std::string out = fmt::format("kernel,line,{},share,stalls,text\n", ToString(lines.counting()));
  for (const PtxLine* line : lines.InOrder()) {
    out += fmt::format("{},{},{},{},{},{}\n", CsvCell(line->kernel), line->line, line->count,
                       lines.ShareOf(*line), CsvCell(StallsText(*line, SIZE_MAX)),
                       CsvCell(line->text));
  }
  return out;
}

}  // namespace hloscope::viewer
