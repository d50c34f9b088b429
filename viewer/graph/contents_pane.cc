// How rows are drawn, as far as they are in view.
#include "viewer/graph/contents_pane.h"

#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "core/graph/count_text.h"
#include "core/graph/overview.h"
#include "viewer/graph/heat_paint.h"
#include "viewer/graph/text_in_room.h"
#include "viewer/model/navigation.h"
#include "viewer/widgets/heat_ramp.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using graph::NodeId;
using graph::NodeKind;

// Logical pixels; columns as shares of the width.
constexpr float kRowHeight = 24, kMaxRowHeight = 32, kTextSize = 14, kIndent = 16, kValueWidth = 84,
                kGraphWidth = 52, kPeakWidth = 62;
constexpr float kBecameFrom = 0.42f, kRunsFrom = 0.68f;
constexpr size_t kMaxMembers = 200;  // operations of a kernel that are looked for

constexpr std::array<Color, graph::kLaneCount> kLaneColors = {
    Color::kPlaceKernel,  Color::kPlaceLibrary,    Color::kPlaceCopy, Color::kPlaceCollective,
    Color::kPlaceControl, Color::kPlaceHostMemory, Color::kPlaceHost};

// The lanes that are used.
std::vector<LegendEntry> LegendOf(const Theme& theme, const Contents& contents) {
  std::vector<LegendEntry> legend;
  for (size_t k = 0; k < graph::kLaneCount; ++k) {
    if (contents.whole().kernels[k] == 0) continue;
    legend.push_back(
        {theme[kLaneColors[k]], std::string(graph::TitleOf(static_cast<graph::Lane>(k)))});
  }
  return legend;
}

// "3 kernels, 1 operation on the host": what a row became.
std::string LaunchesText(const ContentSums& sums) {
  const auto count = [&](graph::Lane lane) { return sums.kernels[static_cast<size_t>(lane)]; };
  const int64_t host = count(graph::Lane::kHost), memory = count(graph::Lane::kHostMemory);
  std::string text = sums.launches() > host + memory ? graph::ToText(sums.kernels) : std::string();
  const auto add = [&](int64_t number, std::string_view one, std::string_view many) {
    if (number == 0) return;
    if (!text.empty()) text += ", ";
    text += graph::CountedText(number, one, many);
  };
  add(host, "operation on the host", "operations on the host");
  add(memory, "move to or from host memory", "moves to or from host memory");
  return text.empty() ? "no kernel" : text;
}

}  // namespace

void ContentsPane::DrawText(Frame& frame, ImVec2 at, float end, Color color,
                            const std::string& text, bool is_right) {
  DrawText(frame, at, end, frame.theme[color], text, is_right);
}

void ContentsPane::DrawText(Frame& frame, ImVec2 at, float end, uint32_t color,
                            const std::string& text, bool is_right) {
  const float size = kTextSize * frame.scale;
  if (text.empty() || end - at.x < 2 * size) return;
  const std::string shown = FitEnd(frame.font, size, text, end - at.x);
  if (shown != text && ImGui::IsMouseHoveringRect(at, {end, at.y + row_height_ * frame.scale}))
    cut_ = text;
  if (is_right) at.x = end - WidthOf(frame.font, size, shown);
  ImGui::GetWindowDrawList()->AddText(frame.font, size,
                                      {at.x, at.y + (row_height_ * frame.scale - size) / 2}, color,
                                      shown.c_str());
}

// `brief` where only that fits; the tooltip has all of the text.
void ContentsPane::DrawWhole(Frame& frame, ImVec2 at, float end, Color color,
                             const std::string& text, const std::string& brief) {
  const float size = kTextSize * frame.scale, room = end - at.x;
  const bool is_brief =
      WidthOf(frame.font, size, text) > room && WidthOf(frame.font, size, brief) <= room;
  DrawText(frame, at, end, color, is_brief ? brief : text, false);
  if (is_brief && ImGui::IsMouseHoveringRect(at, {end, at.y + row_height_ * frame.scale}))
    cut_ = text;
}

void ContentsPane::DrawName(Frame& frame, const Row& row, const ContentSums& sums, ImVec2 at,
                            float end) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float scale = frame.scale, middle = at.y + row_height_ * scale / 2, r = 4 * scale;
  float x = at.x + (6 + kIndent * static_cast<float>(std::min(row.depth, 12))) * scale;
  if (CanOpen(row)) {
    const ImU32 color = frame.theme[Color::kTextSecondary];
    if (IsOpen(row)) {
      list.AddTriangleFilled({x, middle - r / 2}, {x + 2 * r, middle - r / 2}, {x + r, middle + r},
                             color);
    } else {
      list.AddTriangleFilled({x, middle - r}, {x + r * 1.5f, middle}, {x, middle + r}, color);
    }
  }
  x += 14 * scale;
  const bool is_leaf =
      row.node.valid() && data_->graph.tree()[row.node].kind == NodeKind::kInstruction;
  float room = end - 26 * scale;
  if (!is_leaf && row.node.valid()) {
    const int64_t count =
        contents_ != nullptr ? sums.operations : data_->graph.tree()[row.node].instructions;
    DrawText(frame, {room - 60 * scale, at.y}, room, Color::kTextSecondary, CountText(count), true);
    room -= 64 * scale;
  }
  const std::string name = NameOf(row);
  DrawText(frame, {x, at.y}, room, is_leaf ? Color::kTextSecondary : Color::kText, name, false);
  if (!is_leaf) return;
  // What it is, as far as there is room beside its name: all of it, or its opcode.
  x += WidthOf(frame.font, kTextSize * scale, name) + 10 * scale;
  const std::string detail =
      graph::TextOf(*data_->module, data_->graph.tree()[row.node].instruction).subtitle;
  const std::string opcode = detail.substr(0, detail.find(' '));
  const bool fits = WidthOf(frame.font, kTextSize * scale, opcode) <= room - x;
  DrawWhole(frame, {x, at.y}, room, Color::kTextSecondary, detail, fits ? opcode : "");
}

void ContentsPane::DrawBecame(Frame& frame, const ContentSums& sums, uint32_t kernel, ImVec2 at,
                              float end) {
  if (contents_ == nullptr) return;
  const float scale = frame.scale, height = row_height_ * scale;
  if (kernel != graph::kNoKernel) {
    const graph::KernelMap::Kernel& one = paint_.kernels->map.kernels[kernel];
    ImGui::GetWindowDrawList()->AddRectFilled({at.x, at.y + 3 * scale},
                                              {at.x + 4 * scale, at.y + height - 3 * scale},
                                              ColorOfKernel(frame.theme, one.color));
    const bool is_host = graph::IsHost(graph::LaneOf(one.place));
    const std::string name = NameOfKernel(*paint_.kernels, kernel);
    DrawText(frame, {at.x + 10 * scale, at.y}, end,
             sums.launches() == 0 ? Color::kTextSecondary
             : is_host            ? Color::kDeviceFallback
                                  : Color::kText,
             sums.launches() == 0 ? "in " + name : name, false);
    return;
  }
  const bool has_host = sums.kernels[static_cast<size_t>(graph::Lane::kHost)] > 0;
  const std::string text = sums.launches() > 0   ? LaunchesText(sums)
                           : sums.operations > 0 ? "in kernels of other rows"
                                                 : "no code";
  const Color color = sums.launches() == 0 ? Color::kTextSecondary
                      : has_host           ? Color::kDeviceFallback
                                           : Color::kText;
  const bool is_on_device =
      !has_host && sums.kernels[static_cast<size_t>(graph::Lane::kHostMemory)] == 0;
  DrawWhole(frame, {at.x + 10 * scale, at.y}, end, color, text,
            sums.launches() > 0 && is_on_device
                ? graph::CountedText(sums.launches(), "launch", "launches")
                : text);
}

// In the colours of the lanes, as long as its share of the largest.
void ContentsPane::DrawBar(Frame& frame, const ContentSums& sums, ImVec2 at, float end) {
  const double total = sums.total();
  if (contents_ == nullptr || total <= 0 || most_ <= 0) return;
  const float scale = frame.scale, height = row_height_ * scale;
  const float value = kValueWidth * scale, full = end - at.x - value;
  float x = at.x;
  for (size_t k = 0; k < graph::kLaneCount; ++k) {
    const auto width = static_cast<float>(static_cast<double>(full) * sums.amount[k] / most_);
    if (width <= 0) continue;
    ImGui::GetWindowDrawList()->AddRectFilled(
        {x, at.y + 5 * scale}, {x + std::max(width, scale), at.y + height - 5 * scale},
        frame.theme[kLaneColors[k]]);
    x += width;
  }
  // A sum is not on the scale of the heat; the hottest kernel in it is, beside it.
  const HeatFacts& facts = contents_->amounts();
  if (MeasureInView(frame.context) != HeatMeasure::kOff)
    ImGui::GetWindowDrawList()->AddRectFilled({end - value + 2 * scale, at.y + 4 * scale},
                                              {end - value + 12 * scale, at.y + height - 4 * scale},
                                              HeatColor(frame.theme, facts.PlaceOf(sums.hottest)),
                                              2 * scale);
  DrawText(frame, {end - value + 14 * scale, at.y}, end - 6 * scale, frame.theme[Color::kText],
           facts.ToText(total), true);
}

// The share of a row in what lives at the peak.
void ContentsPane::DrawPeak(Frame& frame, const ContentSums& sums, ImVec2 at, float end) {
  if (contents_ == nullptr || !contents_->has_peak() || sums.peak <= 0) return;
  const double share = 100 * sums.peak / contents_->whole().peak;
  DrawText(frame, at, end - 6 * frame.scale, frame.theme[Color::kTextSecondary],
           share < 0.05 ? "< 0.1 %" : fmt::format("{:.1f} %", share), true);
}

// What a row takes, with its share of the whole.
std::string ContentsPane::FiguresOf(const ContentSums& sums) const {
  const ContentSums& whole = contents_->whole();
  const auto share = [](double part, double all) {
    return all > 0 ? fmt::format(", {:.1f} %", 100 * part / all) : std::string();
  };
  std::string out = LaunchesText(sums);
  const HeatFacts& amounts = contents_->amounts();
  if (amounts.measure != HeatMeasure::kBytes && amounts.measure != HeatMeasure::kFlops &&
      amounts.measure != HeatMeasure::kPeak)
    out += fmt::format("\n{}: {}{}", HeatRowOf(amounts.measure).title, amounts.ToText(sums.total()),
                       share(sums.total(), whole.total()));
  out += fmt::format("\nbytes moved (estimate): {}{}",
                     graph::BytesText(static_cast<int64_t>(sums.bytes)),
                     share(sums.bytes, whole.bytes));
  out += fmt::format("\nFLOPs (estimate): {:.3g}{}", sums.flops, share(sums.flops, whole.flops));
  if (!contents_->has_peak()) return out;
  return out + fmt::format("\nat the peak: {}{}", graph::BytesText(static_cast<int64_t>(sums.peak)),
                           share(sums.peak, whole.peak));
}

// From every operation of the shown kernel in view to where the kernel counts.
void ContentsPane::DrawRibbon(Frame& frame, const Columns& columns, float first) const {
  if (contents_ == nullptr || shown_kernel_ == graph::kNoKernel ||
      shown_kernel_ >= paint_.kernels->map.kernels.size())
    return;
  const float scale = frame.scale, height = row_height_ * scale;
  const size_t target = FindRow(RowOf(contents_->OwnerOf(shown_kernel_)));
  const auto y_of = [&](size_t k) { return first + std::round(height * static_cast<float>(k)); };
  const uint32_t color =
      ColorOfKernel(frame.theme, paint_.kernels->map.kernels[shown_kernel_].color);
  const auto members = paint_.source != nullptr ? paint_.source->members.Of(shown_kernel_)
                                                : paint_.kernels->members.Of(shown_kernel_);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  std::vector<size_t> seen;
  for (hlo::InstructionId id : members.first(std::min(members.size(), kMaxMembers))) {
    const size_t row = FindRow(RowOf(id));
    if (row >= rows_.size() || std::ranges::find(seen, row) != seen.end()) continue;
    seen.push_back(row);
    const float y = y_of(row);
    list.AddRectFilled({columns.left, y - height / 2 + scale},
                       {columns.left + 4 * scale, y + height / 2 - scale}, color);
    if (target >= rows_.size() || target == row) continue;
    const ImVec2 a(columns.became - 18 * scale, y), b(columns.became - 2 * scale, y_of(target));
    list.AddBezierCubic(a, {b.x, a.y}, {a.x, b.y}, b, (color & 0x00ffffffu) | 0xb0000000u,
                        2 * scale);
  }
}

void ContentsPane::DrawRow(Frame& frame, size_t index, const Columns& columns,
                           ContentEvents& events) {
  const Row row = rows_[index];
  const ContentSums sums = SumsOf(row);
  const uint32_t kernel = KernelOf(row, sums);
  const float scale = frame.scale, height = row_height_ * scale;
  // Left to itself Dear ImGui cuts the height to whole pixels, and ribbons end below their rows.
  ImGui::SetCursorPosY(std::round(height * static_cast<float>(index)));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::SetNextItemAllowOverlap();
  const bool is_focus = row.node.valid() && row.node == focus_;
  ImGui::PushID(static_cast<int>(index));
  if (ImGui::Selectable("##row", is_focus, ImGuiSelectableFlags_AllowOverlap,
                        {columns.right - at.x, height})) {
    if (kernel != graph::kNoKernel && ImGui::GetIO().MousePos.x >= columns.became) {
      events.kernel = kernel;
    } else {
      if (CanOpen(row)) Toggle(row);
      focus_ = events.chosen = row.node;
    }
  }
  const bool is_hovered = ImGui::IsItemHovered();
  if (is_hovered) events.hovered_kernel = kernel;
  const bool is_scope = row.node.valid() && CanOpen(row);
  float name_end = columns.became;
  if (is_scope && is_hovered) name_end -= kGraphWidth * scale;
  if (row.node.valid() && found_.contains(row.node.index))
    ImGui::GetWindowDrawList()->AddRectFilled(at, {columns.became - 20 * scale, at.y + height},
                                              frame.theme.With(Color::kMatch, 0.55f), 2);
  cut_.clear();
  DrawName(frame, row, sums, at, name_end);
  DrawBecame(frame, sums, kernel, {columns.became, at.y}, columns.runs - 6 * scale);
  DrawBar(frame, sums, {columns.runs, at.y}, columns.peak);
  DrawPeak(frame, sums, {columns.peak, at.y}, columns.right);
  const bool has_figures = contents_ != nullptr && (sums.launches() > 0 || sums.peak > 0) &&
                           is_hovered && ImGui::GetIO().MousePos.x >= columns.runs;
  if (has_figures) {
    Help(FiguresOf(sums));
  } else if (!cut_.empty()) {
    Help(cut_);
  }
  if (is_scope && ImGui::IsMouseHoveringRect(at, {columns.became, at.y + height})) {
    ImGui::SetCursorScreenPos({name_end, at.y});
    if (ImGui::SmallButton("Graph")) events.drawn = row.node;
    Help("draw this scope as graphs: what you wrote, what was fused, where it runs\nEnter");
    ImGui::SetCursorScreenPos({at.x, at.y + height});
  }
  ImGui::PopID();
}

void ContentsPane::DrawHead(Frame& frame, const Columns& columns, const ContentTitles& titles) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const auto title = [&](float x, float end, const std::string& text) {
    ImGui::SetCursorScreenPos({x, at.y});
    ImGui::BeginChild(ImGui::GetID(text.c_str()), {end - x - 6 * frame.scale, 0},
                      ImGuiChildFlags_AutoResizeY);
    FittedLabel(text);
    ImGui::EndChild();
  };
  title(columns.left, columns.became, titles.wrote);
  title(columns.became, columns.runs, titles.became);
  const auto sorted = [&](float x, float end, const std::string& text, Order order, const char* id,
                          std::string_view help) {
    const bool is_first = order_ == order;
    ImGui::SetCursorScreenPos({x, at.y});
    const std::string shown = FittedText(text + (is_first ? ", largest first" : ""), end - x);
    if (ImGui::Selectable((shown + id).c_str(), false, 0, {end - x, 0})) SwitchOrder(order);
    Help(fmt::format("{}{}\nclick for the order of the program, or the largest first{}", text,
                     is_first ? ", largest first" : "", help));
  };
  sorted(columns.runs, columns.peak,
         fmt::format(
             "Where it runs: {}",
             HeatRowOf(contents_ == nullptr ? HeatMeasure::kBytes : contents_->amounts().measure)
                 .title),
         Order::kAmount, "##order", "\nO");
  if (columns.peak < columns.right)
    sorted(columns.peak, columns.right, "Peak", Order::kPeak, "##peak",
           "\nshare of the bytes that are live at the peak");
  ImGui::SetCursorScreenPos({at.x, at.y + ImGui::GetTextLineHeightWithSpacing()});
}

// What is open at first, and how high the rows are at least from then on: a few take more of the
// room.
void ContentsPane::OpenFirst(float room) {
  open_.assign(data_->graph.tree().size(), false);
  lists_unassigned_ = false;
  focus_ = {};
  OpenWhole();
  OpenToFill(static_cast<size_t>(std::max(room / kRowHeight, 2.0f)) - 1);
  least_row_ = std::clamp(std::floor(room / static_cast<float>(rows_.size() + 1)), kRowHeight,
                          kMaxRowHeight);
}

ContentEvents ContentsPane::Draw(Frame& frame, GraphPane& pane,
                                 const std::shared_ptr<const Contents>& contents,
                                 const KernelPaint& paint, uint32_t shown_kernel,
                                 const ContentTitles& titles, ImVec2 room) {
  const auto [width, height] = room;
  ContentEvents events;
  const bool is_other = data_ != pane.shared_data();
  stale_ |= is_other || contents_ != contents || hits_ != pane.hits();
  hits_ = pane.hits();
  data_ = pane.shared_data();
  contents_ = contents;
  paint_ = paint;
  shown_kernel_ = shown_kernel;
  legend_ = contents_ == nullptr ? std::vector<LegendEntry>() : LegendOf(frame.theme, *contents_);
  if (contents_ != nullptr && MeasureInView(frame.context) != HeatMeasure::kOff)
    std::ranges::copy(HeatLegend(frame.theme, contents_->amounts(), "hottest kernel of a row, "),
                      std::back_inserter(legend_));
  const float below_head = height - ImGui::GetTextLineHeightWithSpacing();
  if (is_other) OpenFirst(below_head / frame.scale);
  // Whole rows only: what is below it cuts none.
  const float fitting = std::max(std::floor(below_head / (least_row_ * frame.scale)), 1.0f);
  const float each = std::max(below_head / fitting, 1.0f);
  row_height_ = each / frame.scale;
  const hlo::InstructionId selected = frame.context.navigation.InstructionIn(pane.stage());
  const bool follows = selected.valid() && (followed_ != selected || is_other);
  followed_ = selected;
  if (follows) focus_ = RowOf(selected);
  if (stale_) FillRows();
  const float left = ImGui::GetCursorScreenPos().x;
  const float bar = ImGui::GetStyle().ScrollbarSize;
  const bool has_peak = contents_ != nullptr && contents_->has_peak();
  const float right = left + width - bar;
  const Columns columns{left, left + width * kBecameFrom, left + width * kRunsFrom,
                        right - (has_peak ? kPeakWidth * frame.scale : 0), right};
  DrawHead(frame, columns, titles);
  ImGui::PushStyleColor(ImGuiCol_ChildBg, frame.theme[Color::kCanvas]);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
  ImGui::BeginChild("##rows", {width, fitting * each});
  // What nobody chose leaves the table of contents at its beginning.
  const bool leads = follows && !std::exchange(stays_, false);
  if (const size_t row = leads ? FindRow(focus_) : rows_.size(); row < rows_.size()) {
    const float y = each * static_cast<float>(row), shown = ImGui::GetWindowHeight();
    if (y < ImGui::GetScrollY() || y + each > ImGui::GetScrollY() + shown)
      ImGui::SetScrollY(y - shown / 3);
  }
  const float top = ImGui::GetCursorScreenPos().y;
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(rows_.size()), each);
  while (clipper.Step()) {
    for (int k = clipper.DisplayStart; k < clipper.DisplayEnd; ++k)
      DrawRow(frame, static_cast<size_t>(k), columns, events);
  }
  clipper.End();
  DrawRibbon(frame, columns, top + each / 2);
  ImGui::EndChild();
  ImGui::PopStyleVar();
  ImGui::PopStyleColor();
  return events;
}

}  // namespace hloscope::viewer
