// The lanes of a pane: a column each with a title, or where those would be too narrow a list.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <cfloat>

#include "core/graph/count_text.h"
#include "viewer/graph/graph_pane.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

constexpr float kMinTitle = 0.75f;  // of the size of text
constexpr float kMinLane = 110;     // logical pixels of a column

}  // namespace

void GraphPane::PlaceLanes() {
  const graph::Picture& picture = data_->graph.picture();
  const uint64_t version = data_->graph.version() * 1'000'003 + style_version_;
  if (lanes_version_ == version) return;
  lanes_version_ = version;
  lanes_ = graph::PlaceInLanes(data_->graph.tree(), picture, data_->places);
}

// `width` in logical pixels.
bool GraphPane::IsNarrow(float width) const {
  const float whole = lanes_.picture.width;
  return std::ranges::any_of(lanes_.lanes, [&](const graph::LaneSpan& lane) {
    return lane.width / whole * width < kMinLane;
  });
}

CanvasEvents GraphPane::DrawLanes(Frame& frame, const char* id, float width, float height,
                                  const std::shared_ptr<const Contents>& contents) {
  PlaceLanes();
  shows_list_ = IsNarrow(width / frame.scale - 12);
  if (shows_list_) {
    const CanvasEvents events = lane_list_.Draw(
        frame, id, {width, height}, lanes_, SceneOf(lanes_.picture), contents,
        [this](const graph::LaneSpan& lane) { return TitleOf(lane) + " " + CountIn(lane); });
    NoteHovered(events);
    return events;
  }
  // All lanes are always in view: only the height is zoomed.
  lanes_canvas_.x = lanes_.picture.width / 2;
  lanes_canvas_.stretch =
      (width / frame.scale - 12) / std::max(1.0f, lanes_.picture.width * lanes_canvas_.zoom);
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  CanvasEvents events =
      lanes_canvas_.Draw(frame, id, {width, height}, SceneOf(lanes_.picture), false);
  NoteHovered(events);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float zoom = lanes_canvas_.zoom * lanes_canvas_.stretch * frame.scale;
  const float bottom = corner.y + height;
  for (size_t k = 0; k < lanes_.lanes.size(); ++k) {
    const graph::LaneSpan& a = lanes_.lanes[k];
    const auto at = [&](float px) { return corner.x + width / 2 + (px - lanes_canvas_.x) * zoom; };
    if (graph::IsHost(a.lane))
      list.AddRectFilled({at(a.left - 20), corner.y}, {at(a.left + a.width + 20), bottom},
                         frame.theme.With(Color::kDeviceFallback, 0.10f));
    if (k + 1 == lanes_.lanes.size()) break;
    const float x = at((a.left + a.width + lanes_.lanes[k + 1].left) / 2);
    list.AddLine({x, corner.y}, {x, bottom}, frame.theme[Color::kLine]);
  }
  if (lanes_.lanes.empty())
    list.AddText({corner.x + 8 * frame.scale, corner.y + 8 * frame.scale},
                 frame.theme[Color::kTextSecondary], "no instruction here executes");
  DrawLaneTitles(frame, corner, width);
  if (lanes_.no_code > 0) {
    const std::string left_out =
        "+ " + graph::CountedText(lanes_.no_code, "box", "boxes") + " without code";
    const ImVec2 size = ImGui::CalcTextSize(left_out.c_str());
    const float y = bottom - size.y - 4 * frame.scale, gap = 6 * frame.scale;
    const auto lies_on_a_box = [&](float x) {
      const graph::Area text{x, y, x + size.x, bottom};
      return std::ranges::any_of(lanes_.picture.boxes, [&](const graph::Box& box) {
        const auto area = lanes_canvas_.OnScreen(box);
        return area && area->Meets(text);
      });
    };
    // At the right, else at the left.
    const float right = corner.x + width - size.x - gap, left = corner.x + gap;
    const float x = lies_on_a_box(right) && !lies_on_a_box(left) ? left : right;
    if (size.x < width - 2 * gap)
      list.AddText({x, y}, frame.theme[Color::kTextSecondary], left_out.c_str());
  }
  return events;
}

std::string GraphPane::TitleOf(const graph::LaneSpan& lane) const {
  const bool known = data_->placement.compiled || lane.lane != graph::Lane::kRuntime;
  return known ? std::string(graph::TitleOf(lane.lane)) : "no placement before fusion";
}

// How many instructions run in a lane of the whole stage, also what is not in this picture; of the
// host also how many bytes move.
std::string GraphPane::CountIn(const graph::LaneSpan& lane) const {
  const bool known = kernels_.kernels != nullptr && data_->placement.compiled &&
                     lane.lane != graph::Lane::kRuntime;
  std::string count = CountText(known ? kernels_.kernels->lanes[static_cast<size_t>(lane.lane)]
                                      : static_cast<int64_t>(lane.instructions));
  const int64_t bytes =
      known ? kernels_.kernels->lane_bytes[static_cast<size_t>(lane.lane)] : int64_t{0};
  if (bytes > 0) count += ", " + graph::BytesText(bytes);
  return count;
}

// Over the upper edge of the canvas, whatever is below it: how many instructions run in each lane,
// and of the host how many bytes move.
void GraphPane::DrawLaneTitles(Frame& frame, ImVec2 corner, float width) const {
  if (lanes_.lanes.empty()) return;
  const float zoom = lanes_canvas_.zoom * lanes_canvas_.stretch * frame.scale;
  const float tall = ImGui::GetTextLineHeight();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddRectFilled(corner, {corner.x + width, corner.y + tall + 2 * frame.scale},
                     frame.theme.With(Color::kCanvas, 0.92f));
  for (const graph::LaneSpan& lane : lanes_.lanes) {
    const float left = corner.x + width / 2 + (lane.left - lanes_canvas_.x) * zoom;
    const float right = left + lane.width * zoom;
    const bool host = graph::IsHost(lane.lane);
    const std::string count = CountIn(lane);
    const ImVec4 clip(left, corner.y, right + 20 * zoom, corner.y + tall);
    // A title is a little smaller before it is cut.
    const float size = ImGui::GetFontSize();
    const std::string title = TitleOf(lane) + " " + count;
    const float needs = frame.font->CalcTextSizeA(size, FLT_MAX, 0, title.c_str()).x;
    const float fits = std::clamp((clip.z - clip.x) / std::max(needs, 1.0f), kMinTitle, 1.0f);
    list.AddText(frame.font, size * fits, {left, corner.y},
                 frame.theme[host ? Color::kDeviceFallback : Color::kText], title.c_str(), nullptr,
                 0, &clip);
    if (ImGui::IsMouseHoveringRect({left, corner.y}, {right, corner.y + tall}))
      ImGui::SetTooltip("%s: %s", TitleOf(lane).c_str(), count.c_str());
  }
}

}  // namespace hloscope::viewer
