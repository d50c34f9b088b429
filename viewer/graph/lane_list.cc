// The list of lanes: filled where the picture changes, drawn as far as it is in view.
#include "viewer/graph/lane_list.h"

#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <cfloat>
#include <utility>

#include "core/graph/count_text.h"
#include "viewer/graph/graph_outline.h"
#include "viewer/graph/text_in_room.h"
#include "viewer/model/number_text.h"
#include "viewer/widgets/heat_ramp.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using graph::NodeId;

constexpr float kRowHeight = 20, kTextSize = 13, kIndent = 14;  // logical pixels
constexpr float kMinName = 110;                                 // before a value stands beside it

}  // namespace

void LaneList::Fill(const graph::LanePicture& lanes, const CanvasScene& scene,
                    const std::shared_ptr<const Contents>& contents) {
  if (graph_ == scene.graph && version_ == scene.version && contents_ == contents) return;
  graph_ = scene.graph;
  version_ = scene.version;
  contents_ = contents;
  rows_.clear();
  most_ = 0;
  std::vector<const graph::Box*> boxes;
  for (const graph::LaneSpan& lane : lanes.lanes) {
    rows_.push_back({.lane = &lane, .node = {}, .in = lane.lane, .style = {}});
    boxes.clear();
    for (const graph::Box& box : lanes.picture.boxes) {
      if (box.x >= lane.left && box.x < lane.left + lane.width) boxes.push_back(&box);
    }
    std::ranges::sort(boxes, {}, [](const graph::Box* box) { return std::pair(box->y, box->x); });
    for (const graph::Box* box : boxes) {
      Row row{
          .node = box->node, .count = box->count, .in = lane.lane, .style = scene.style(box->node)};
      if (contents != nullptr) {
        const ContentSums& sums = contents->Of(*scene.tree, box->node);
        row.amount = sums.amount[static_cast<size_t>(lane.lane)];
        row.holds = sums.kernels[static_cast<size_t>(lane.lane)];
      }
      most_ = std::max(most_, row.amount);
      rows_.push_back(std::move(row));
    }
  }
}

std::optional<graph::Area> LaneList::OnScreen(NodeId node) const {
  const auto found = shown_.find(node.index);
  return found == shown_.end() ? std::nullopt : std::optional(found->second);
}

CanvasEvents LaneList::Draw(Frame& frame, const char* id, ImVec2 size,
                            const graph::LanePicture& lanes, const CanvasScene& scene,
                            const std::shared_ptr<const Contents>& contents, const Title& title) {
  Fill(lanes, scene, contents);
  shown_.clear();
  CanvasEvents events;
  ImGui::PushStyleColor(ImGuiCol_ChildBg, frame.theme[Color::kCanvas]);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
  ImGui::BeginChild(id, size);
  const float height = kRowHeight * frame.scale, width = ImGui::GetContentRegionAvail().x;
  if (followed_ != scene.selected) {
    followed_ = scene.selected;
    const auto at = std::ranges::find(rows_, scene.selected, &Row::node);
    const float y = height * static_cast<float>(at - rows_.begin());
    const bool is_out =
        y < ImGui::GetScrollY() || y + height > ImGui::GetScrollY() + ImGui::GetWindowHeight();
    if (scene.selected.valid() && at != rows_.end() && is_out)
      ImGui::SetScrollY(y - ImGui::GetWindowHeight() / 3);
  }
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(rows_.size()), height);
  while (clipper.Step()) {
    for (int k = clipper.DisplayStart; k < clipper.DisplayEnd; ++k) {
      const Row& row = rows_[static_cast<size_t>(k)];
      const ImVec2 at = ImGui::GetCursorScreenPos();
      ImGui::PushID(k);
      ImGui::InvisibleButton("##row", {std::max(width, 1.0f), height});
      ImGui::PopID();
      if (row.lane != nullptr) {
        DrawHeading(frame, row, at, width, title);
        continue;
      }
      if (ImGui::IsItemHovered()) {
        events.hovered = row.node;
        if (ImGui::IsMouseReleased(ImGuiMouseButton_Left)) events.clicked = row.node;
        if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) events.opened = row.node;
      }
      DrawRow(frame, row, at, width, scene);
      if (scene.explain && ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal))
        Help(SafeLines(scene.explain(row.node)));
      shown_.try_emplace(row.node.index, at.x, at.y, at.x + width, at.y + height);
    }
  }
  clipper.End();
  if (lanes.no_code > 0)
    Label(frame.theme, Color::kTextSecondary,
          "+ " + graph::CountedText(lanes.no_code, "box", "boxes") + " without code");
  ImGui::EndChild();
  ImGui::PopStyleVar();
  ImGui::PopStyleColor();
  return events;
}

void LaneList::DrawHeading(Frame& frame, const Row& row, ImVec2 at, float width,
                           const Title& title) const {
  const bool is_host = graph::IsHost(row.in);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float height = kRowHeight * frame.scale, size = ImGui::GetFontSize();
  list.AddRectFilled(
      at, {at.x + width, at.y + height},
      is_host ? frame.theme.With(Color::kDeviceFallback, 0.10f) : frame.theme[Color::kRaised]);
  const std::string whole = title(*row.lane);
  const std::string text = FitEnd(frame.font, size, whole, width - 8 * frame.scale);
  list.AddText(frame.font, size, {at.x + 4 * frame.scale, at.y + (height - size) / 2},
               frame.theme[is_host ? Color::kDeviceFallback : Color::kText], text.c_str());
  if (text != whole) Help(whole);
  // What the bars show, once.
  if (contents_ == nullptr || most_ <= 0 || &row != &rows_.front()) return;
  const std::string measure(HeatRowOf(contents_->amounts().measure).title);
  const float small = kTextSize * frame.scale;
  const float needs = frame.font->CalcTextSizeA(small, FLT_MAX, 0, measure.c_str()).x;
  const float used = frame.font->CalcTextSizeA(size, FLT_MAX, 0, text.c_str()).x;
  if (used + needs + 20 * frame.scale > width) return;
  list.AddText(frame.font, small,
               {at.x + width - needs - 4 * frame.scale, at.y + (height - small) / 2},
               frame.theme[Color::kTextSecondary], measure.c_str());
}

// What a row takes, where there is room beside its name; returns where that ends.
float LaneList::DrawValue(Frame& frame, const Row& row, ImVec2 at, float width,
                          const CanvasScene& scene) const {
  const float end = at.x + width - 4 * frame.scale;
  const analysis::Transfer* const moved = scene.transfer ? scene.transfer(row.node) : nullptr;
  std::string text;
  if (moved != nullptr) {
    text = moved->bytes < 0 ? "size unknown" : graph::BytesText(moved->bytes);
  } else if (contents_ != nullptr && row.amount > 0) {
    text = contents_->amounts().ToText(row.amount);
  }
  const float size = kTextSize * frame.scale, height = kRowHeight * frame.scale;
  const float needs = frame.font->CalcTextSizeA(size, FLT_MAX, 0, text.c_str()).x;
  if (text.empty() || width - needs < kMinName * frame.scale) return end;
  uint32_t ink = frame.theme[moved != nullptr ? Color::kDeviceFallback : Color::kTextSecondary];
  if (row.style.fill != 0) {
    ImGui::GetWindowDrawList()->AddRectFilled({end - needs - 4 * frame.scale, at.y + frame.scale},
                                              {end + 2 * frame.scale, at.y + height - frame.scale},
                                              row.style.fill, 2 * frame.scale);
    ink = row.style.ink;
  }
  ImGui::GetWindowDrawList()->AddText(frame.font, size, {end - needs, at.y + (height - size) / 2},
                                      ink, text.c_str());
  return end - needs - 8 * frame.scale;
}

void LaneList::DrawRow(Frame& frame, const Row& row, ImVec2 at, float width,
                       const CanvasScene& scene) const {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float scale = frame.scale, height = kRowHeight * scale, size = kTextSize * scale;
  const ImVec2 end(at.x + width, at.y + height);
  const bool is_host = graph::IsHost(row.in);
  if (row.node == scene.selected) {
    list.AddRectFilled(at, end, frame.theme[Color::kSelected]);
  } else if (scene.found->contains(row.node.index)) {
    list.AddRectFilled(at, end, frame.theme.With(Color::kMatch, 0.55f));
  } else if (scene.highlighted->contains(row.node.index)) {
    list.AddRectFilled(at, end, frame.theme[Color::kHighlighted]);
  } else if (ImGui::IsItemHovered()) {
    list.AddRectFilled(at, end, frame.theme[Color::kHover]);
  }
  if (most_ > 0 && row.amount > 0) {
    const auto share = static_cast<float>(row.amount / most_);
    list.AddRectFilled({at.x, end.y - 3 * scale},
                       {at.x + std::max(width * share, scale), end.y - scale},
                       frame.theme[is_host ? Color::kDeviceFallback : Color::kTextDisabled]);
  }
  list.AddRectFilled({at.x + 4 * scale, at.y + 3 * scale}, {at.x + 8 * scale, end.y - 4 * scale},
                     OutlineColor(frame.theme, row.style));
  const float left = at.x + kIndent * scale;
  const float right = DrawValue(frame, row, at, width, scene);
  std::string name =
      row.count > 0 ? graph::TextOf(*scene.tree, row.node, row.count).title : scene.Title(row.node);
  // A loop is one row for all that it runs in this lane.
  if (row.count == 0 && row.holds > 1) name += fmt::format(": {} inside", CountText(row.holds));
  if (!row.style.note.empty()) name += fmt::format(": {}", row.style.note);
  const std::string text = FitEnd(frame.font, size, SafeText(name), right - left);
  list.AddText(
      frame.font, size, {left, at.y + (height - 3 * scale - size) / 2},
      frame.theme[is_host || row.style.place == analysis::Place::kHost ? Color::kDeviceFallback
                                                                       : Color::kText],
      text.c_str());
}

}  // namespace hloscope::viewer
