// The canvas: camera, pointer and minimap; what is drawn is in graph_painter.cc.
#include "viewer/graph/graph_canvas.h"

#include <imgui/imgui.h>

#include <algorithm>
#include <cmath>

#include "viewer/graph/graph_painter.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using graph::Box;
using graph::NodeId;
using graph::Picture;

constexpr float kMinZoom = 0.002f, kMaxZoom = 4, kReadableZoom = 0.8f;
// What a picture is fitted with: 16 pixels for a box of one line, up to 35 with room for a second.
constexpr float kMinFit = 0.75f, kMaxFit = 1.6f, kMinStretch = 0.5f, kMaxStretch = 4;
// Beside a picture, and above and below it, where the titles of lanes have room.
constexpr float kMargin = 12, kTitleMargin = 20;
constexpr float kMinimapWidth = 150, kMinimapHeight = 110;
constexpr size_t kMinimapBoxes = 3000;

}  // namespace

void GraphCanvas::Fit(const Picture& picture) {
  const graph::Area all{0, 0, picture.width, picture.height};
  fills_width ? FillWidth(all, kMaxFit) : FitArea(all);
}

void GraphCanvas::FillWidth(const graph::Area& area, float most) {
  const float wide = area.right - area.left, tall = area.bottom - area.top;
  if (wide <= 0 || tall <= 0) return;
  most = std::min(most, MostZoom(wide));
  zoom = std::clamp(std::min((height_ - 2 * kTitleMargin) / tall, most), kMinFit, kMaxFit);
  stretch = std::clamp((width_ - 2 * kMargin) / (wide * zoom), kMinStretch, kMaxStretch);
  x = (area.left + area.right) / 2;
  // Of one that is too high the top.
  y = area.top + std::min(tall / 2, (height_ / 2 - kTitleMargin) / zoom);
}

// No larger than leaves all of its width in view.
float GraphCanvas::MostZoom(float wide) const {
  return std::min(kMaxFit, (width_ - 2 * kMargin) / (std::max(wide, 1.0f) * kMinStretch));
}

float GraphCanvas::HeightToFill(float wide) const {
  return (height_ - 2 * kTitleMargin) / std::max(MostZoom(wide), kMinFit);
}

void GraphCanvas::FitArea(const graph::Area& area) {
  const float wide = area.right - area.left, tall = area.bottom - area.top;
  if (wide <= 0 || tall <= 0) return;
  zoom = std::clamp(std::min((width_ - 40) / wide, (height_ - 60) / tall), kMinZoom, 1.0f);
  x = (area.left + area.right) / 2;
  y = (area.top + area.bottom) / 2;
}

bool GraphCanvas::ShowsAll(const Box& box) const {
  const float half_width = width_ / 2 / zoom / stretch, half_height = height_ / 2 / zoom;
  return box.x >= x - half_width && box.x + box.width <= x + half_width &&
         box.y >= y - half_height && box.y + box.height <= y + half_height;
}

void GraphCanvas::FitBox(const Box& box) {
  if (ShowsAll(box)) return;
  const graph::Area area{box.x, box.y, box.x + box.width, box.y + box.height};
  fills_width ? FillWidth(area, std::max(zoom, kMinFit)) : FitArea(area);
}

void GraphCanvas::Center(const Box& box) {
  x = box.x + box.width / 2;
  y = box.y + std::min(box.height / 2, height_ / zoom / 3);
  zoom = std::clamp(zoom, kReadableZoom, kMaxZoom);
}

void GraphCanvas::Bring(const Box& box, const Picture& picture) {
  const float half = width_ / 2 / zoom / stretch;
  const bool is_across = box.x >= x - half && box.x + box.width <= x + half;
  if (!fills_width || !is_across) return Center(box);
  // No further than to the end of the picture.
  const float top = (height_ / 2 - kTitleMargin) / zoom, bottom = picture.height - top;
  y = std::min(box.y + std::min(box.height / 2, height_ / zoom / 3), std::max(top, bottom));
}

bool GraphCanvas::Shows(const Box& box) const {
  const float half_width = width_ / 2 / zoom / stretch, half_height = height_ / 2 / zoom;
  const float dx = std::abs(box.x + box.width / 2 - x) + std::min(box.width / 2, half_width * 0.8f);
  const float dy =
      std::abs(box.y + box.height / 2 - y) + std::min(box.height / 2, half_height * 0.8f);
  return dx < half_width && dy < half_height;
}

std::optional<graph::Area> GraphCanvas::OnScreen(const Box& box) const {
  const auto across = [&](float px) {
    return left_ + (width_ / 2 + (px - x) * zoom * stretch) * scale_;
  };
  const auto down = [&](float py) { return top_ + (height_ / 2 + (py - y) * zoom) * scale_; };
  const graph::Area all{left_, top_, left_ + width_ * scale_, top_ + height_ * scale_};
  const graph::Area area{across(box.x), down(box.y), across(box.x + box.width),
                         down(box.y + box.height)};
  if (!area.Meets(all)) return std::nullopt;
  return graph::Area{std::max(area.left, all.left), std::max(area.top, all.top),
                     std::min(area.right, all.right), std::min(area.bottom, all.bottom)};
}

void GraphCanvas::Zoom(float factor) { zoom = std::clamp(zoom * factor, kMinZoom, kMaxZoom); }

NodeId GraphCanvas::NearestToMiddle(const Picture& picture) const {
  NodeId best;
  float least = 0;
  for (const Box& box : picture.boxes) {
    if (box.open) continue;
    const float dx = box.x + box.width / 2 - x, dy = box.y + box.height / 2 - y;
    const float distance = dx * dx + dy * dy;
    if (best.valid() && distance >= least) continue;
    best = box.node;
    least = distance;
  }
  return best;
}

void GraphCanvas::Prepare(const CanvasScene& scene) {
  // Nodes of another graph have the numbers of those before.
  if (scene.graph != graph_) {
    graph_ = scene.graph;
    texts_.clear();
    hovered_ = NodeId();
    version_ = UINT64_MAX;
  }
  if (scene.version == version_ && indexed_ == scene.picture) return;
  version_ = scene.version;
  indexed_ = scene.picture;
  index_ = graph::SpatialIndex(*scene.picture);
  styles_.clear();
  for (const Box& box : scene.picture->boxes) styles_.push_back(scene.style(box.node));
  DropSingleHulls(*scene.picture);
  leaving_.clear();
  arriving_.clear();
  for (const graph::Wire& wire : scene.picture->wires) {
    if (!wire.jump) continue;
    if (wire.from.valid()) leaving_[wire.from.index].push_back(wire.to);
    if (wire.to.valid()) arriving_[wire.to.index].push_back(wire.from);
  }
}

// A hull says which boxes became one: around a single box there is nothing to say.
void GraphCanvas::DropSingleHulls(const Picture& picture) {
  std::unordered_map<uint32_t, uint32_t> boxes_of;
  for (size_t k = 0; k < styles_.size(); ++k) {
    if (!picture.boxes[k].open) ++boxes_of[styles_[k].kernel];
  }
  for (BoxStyle& style : styles_) {
    if (style.kernel == graph::kNoKernel || boxes_of[style.kernel] < 2) style.hull = 0;
  }
}

const graph::NodeText& GraphCanvas::TextOf(const CanvasScene& scene, NodeId id) {
  auto [at, added] = texts_.try_emplace(id.index);
  if (added) at->second = scene.TextOf(id);
  return at->second;
}

// The innermost box at a point of the picture.
NodeId GraphCanvas::HitTest(const Picture& picture, float px, float py) const {
  NodeId hit;
  uint32_t best = 0;
  index_.ForEachBox({px, py, px, py}, [&](uint32_t k) {
    // Frames precede what is in them.
    if (hit.valid() && k < best) return;
    hit = picture.boxes[k].node;
    best = k;
  });
  return hit;
}

void GraphCanvas::HandlePointer(Frame& frame, const CanvasScene& scene, CanvasEvents& events) {
  const ImGuiIO& io = ImGui::GetIO();
  const float to_picture = 1 / (zoom * scale_);
  const float px = x + (io.MousePos.x - left_ - width_ * scale_ / 2) * to_picture / stretch;
  const float py = y + (io.MousePos.y - top_ - height_ * scale_ / 2) * to_picture;
  hovered_ = NodeId();
  if (ImGui::IsItemHovered()) {
    hovered_ = HitTest(*scene.picture, px, py);
    float by = io.MouseWheel * (io.KeyShift ? 0.5f : 0.25f);
    // W and S zoom, A and D move, as in the timeline.
    if (frame.focused && !io.WantTextInput && !io.KeyCtrl && !io.KeyAlt) {
      if (ImGui::IsKeyPressed(ImGuiKey_W)) by += 0.5f;
      if (ImGui::IsKeyPressed(ImGuiKey_S)) by -= 0.5f;
      const float across = width_ / zoom / stretch * 0.15f;
      const float move = (ImGui::IsKeyPressed(ImGuiKey_D) ? across : 0) -
                         (ImGui::IsKeyPressed(ImGuiKey_A) ? across : 0);
      x += move;
      events.moved |= move != 0;
    }
    if (by != 0) {
      const float before = zoom;
      Zoom(std::exp2(by));
      // What is under the pointer stays there.
      x = px - (px - x) * before / zoom;
      y = py - (py - y) * before / zoom;
      events.moved = true;
    }
    if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) events.opened = hovered_;
  }
  if (ImGui::IsItemActive()) {
    for (ImGuiMouseButton button : {0, 1, 2}) {
      if (!ImGui::IsMouseDragging(button, button == 0 ? 4.0f : 1.0f)) continue;
      const ImVec2 delta = io.MouseDelta;
      x -= delta.x * to_picture / stretch;
      y -= delta.y * to_picture;
      events.moved |= delta.x != 0 || delta.y != 0;
      break;
    }
  }
  const ImVec2 drag = ImGui::GetMouseDragDelta(ImGuiMouseButton_Left, 0.0f);
  const bool still = std::abs(drag.x) + std::abs(drag.y) < 4;
  if (ImGui::IsItemHovered() && ImGui::IsMouseReleased(ImGuiMouseButton_Left) && still)
    events.clicked = hovered_;
  events.hovered = hovered_;
  if (hovered_.valid() && scene.explain && ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal)) {
    ImGui::SetNextWindowSize({0, 0});
    ImGui::BeginTooltip();
    ImGui::PushTextWrapPos(480 * frame.scale);
    ImGui::TextUnformatted(SafeLines(scene.explain(hovered_)).c_str());
    ImGui::PopTextWrapPos();
    ImGui::EndTooltip();
  }
}

CanvasEvents GraphCanvas::Draw(Frame& frame, const char* id, ImVec2 size, const CanvasScene& scene,
                               bool minimap) {
  CanvasEvents events;
  size = {std::max(size.x, 16.0f), std::max(size.y, 16.0f)};
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  scale_ = frame.scale;
  left_ = corner.x;
  top_ = corner.y;
  width_ = size.x / scale_;
  height_ = size.y / scale_;
  Prepare(scene);
  ImGui::SetNextItemAllowOverlap();
  ImGui::InvisibleButton(id, size,
                         ImGuiButtonFlags_MouseButtonLeft | ImGuiButtonFlags_MouseButtonRight |
                             ImGuiButtonFlags_MouseButtonMiddle);
  HandlePointer(frame, scene, events);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const ImVec2 end(corner.x + size.x, corner.y + size.y);
  list.AddRectFilled(corner, end, frame.theme[Color::kCanvas]);
  list.PushClipRect(corner, end, true);
  GraphPainter painter(frame, list, scene, index_, styles_);
  painter.SetCamera({corner.x + size.x / 2, corner.y + size.y / 2}, {x, y}, zoom * scale_, stretch,
                    {x - width_ / 2 / zoom / stretch, y - height_ / 2 / zoom,
                     x + width_ / 2 / zoom / stretch, y + height_ / 2 / zoom});
  painter.SetTexts(
      [this, &scene](NodeId node) -> const graph::NodeText& { return TextOf(scene, node); });
  painter.SetJumps(&leaving_, &arriving_);
  painter.Paint(hovered_);
  if (events.clicked.valid() || ImGui::IsItemHovered()) {
    const NodeId target = painter.JumpAt(ImGui::GetIO().MousePos);
    if (target.valid() && ImGui::IsMouseReleased(ImGuiMouseButton_Left)) {
      events.jump = target;
      events.clicked = NodeId();
    }
  }
  list.PopClipRect();
  if (minimap) DrawMinimap(frame, scene, events);
  return events;
}

void GraphCanvas::DrawMinimap(Frame& frame, const CanvasScene& scene, CanvasEvents& events) {
  const Picture& picture = *scene.picture;
  // Needed only where not all can be seen.
  if (picture.width * zoom * stretch <= width_ + 1 && picture.height * zoom <= height_) return;
  const float most_width = std::min(kMinimapWidth, width_ * 0.34f) * scale_;
  const float most_height = std::min(kMinimapHeight, height_ * 0.25f) * scale_;
  const float ratio = std::min(most_width / picture.width, most_height / picture.height);
  const float w = std::max(picture.width * ratio, 24 * scale_);
  const float h = std::max(picture.height * ratio, 24 * scale_);
  const float rx = w / picture.width, ry = h / picture.height;
  const ImVec2 a(left_ + width_ * scale_ - w - 10 * scale_,
                 top_ + height_ * scale_ - h - 10 * scale_);
  const ImVec2 b(a.x + w, a.y + h);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddRectFilled({a.x - 4, a.y - 4}, {b.x + 4, b.y + 4}, frame.theme.With(Color::kPanel, 0.94f),
                     3);
  list.AddRect({a.x - 4, a.y - 4}, {b.x + 4, b.y + 4}, frame.theme[Color::kLine], 3);
  const size_t step = picture.boxes.size() / kMinimapBoxes + 1;
  for (size_t k = 0; k < picture.boxes.size(); k += step) {
    const Box& box = picture.boxes[k];
    const ImVec2 p(a.x + box.x * rx, a.y + box.y * ry);
    const ImVec2 q(std::max(a.x + (box.x + box.width) * rx, p.x + 1),
                   std::max(a.y + (box.y + box.height) * ry, p.y + 1));
    list.AddRectFilled(p, q, box.open ? frame.theme.With(Color::kLine, 0.5f) : styles_[k].color);
  }
  const ImVec2 p(std::clamp(a.x + (x - width_ / 2 / zoom / stretch) * rx, a.x, b.x),
                 std::clamp(a.y + (y - height_ / 2 / zoom) * ry, a.y, b.y));
  const ImVec2 q(std::clamp(a.x + (x + width_ / 2 / zoom / stretch) * rx, p.x + 2, b.x + 2),
                 std::clamp(a.y + (y + height_ / 2 / zoom) * ry, p.y + 2, b.y + 2));
  list.AddRect(p, q, frame.theme[Color::kAccent], 0, 1.5f * scale_);
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const bool over = mouse.x >= a.x && mouse.x <= b.x && mouse.y >= a.y && mouse.y <= b.y;
  if (over && ImGui::IsMouseDown(ImGuiMouseButton_Left) && ImGui::IsWindowHovered()) {
    x = (mouse.x - a.x) / rx;
    y = (mouse.y - a.y) / ry;
    events.moved = true;
    events.clicked = NodeId();
  }
}

}  // namespace hloscope::viewer
