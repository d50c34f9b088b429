// How boxes and wires of a pass look, and where the camera goes.
#include "viewer/views/change_canvas.h"

#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/graph/count_text.h"
#include "core/hlo/text/text.h"
#include "viewer/graph/graph_pane.h"
#include "viewer/views/change_looks.h"
#include "viewer/widgets/heat_ramp.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using graph::Box;
using graph::ChangeNode;
using graph::NodeId;
using graph::Side;

// Below the first, what changed is not read any more: a part of it is shown at the second.
constexpr float kMinFitted = 0.55f, kPartZoom = 0.8f;
constexpr size_t kKeptAround = 24;  // boxes around the middle that the camera goes by

std::string HloLine(const hlo::Module& module, hlo::InstructionId id) {
  std::string text;
  hlo::PrintText(module, id, hlo::TextFormat::kElided, text);
  return SafeText(text, 600);
}

}  // namespace

void ChangeCanvas::Show(std::shared_ptr<const ChangeDrawing> drawing) {
  if (drawing == drawing_) return;
  const std::shared_ptr<const ChangeDrawing> earlier = std::exchange(drawing_, std::move(drawing));
  ++graph_;
  selected_ = hovered_ = hovered_next_ = NodeId();
  highlighted_.clear();
  if (is_moved_ && earlier != nullptr && !wants_fit_) {
    KeepMiddle(*earlier);
  } else {
    wants_fit_ = true;
  }
}

// By the names of what was nearest to the middle.
void ChangeCanvas::KeepMiddle(const ChangeDrawing& earlier) {
  const GraphCanvas& camera = canvas(0);
  std::vector<std::pair<float, const Box*>> near;
  for (const graph::Picture& picture : earlier.picture.of) {
    for (const Box& box : picture.boxes) {
      const float dx = box.x + box.width / 2 - camera.x, dy = box.y + box.height / 2 - camera.y;
      if (!box.open) near.emplace_back(dx * dx + dy * dy, &box);
    }
  }
  const size_t count = std::min(near.size(), kKeptAround);
  std::ranges::partial_sort(near, near.begin() + static_cast<ptrdiff_t>(count), {},
                            &std::pair<float, const Box*>::first);
  for (size_t k = 0; k < count; ++k) {
    const Box& old = *near[k].second;
    const auto at = drawing_->picture.by_key.find(graph::KeyOf(*earlier.graph, old.node));
    const Box* now =
        at == drawing_->picture.by_key.end() ? nullptr : drawing_->picture.Find(at->second);
    if (now == nullptr) continue;
    canvases_[0].x += now->x + now->width / 2 - old.x - old.width / 2;
    canvases_[0].y += now->y + now->height / 2 - old.y - old.height / 2;
    Link(0);
    return;
  }
  wants_fit_ = true;
}

void ChangeCanvas::Link(size_t from) {
  GraphCanvas& to = canvases_[1 - from];
  to.x = canvases_[from].x;
  to.y = canvases_[from].y;
  to.zoom = canvases_[from].zoom;
}

// All of the picture where that can be read, else where the selection is, or most changes are.
void ChangeCanvas::FitNow() {
  const graph::Picture& picture = drawing_->picture.of[0];
  canvases_[0].Fit(picture);
  if (canvas(0).zoom < kMinFitted) {
    const Box* box = selected_.valid() ? drawing_->picture.Find(selected_) : nullptr;
    if (box != nullptr) {
      canvases_[0].zoom = kPartZoom;
      canvases_[0].Center(*box);
      canvases_[0].zoom = kPartZoom;
    } else {
      LookWhereMostChanged();
    }
  }
  Link(0);
}

void ChangeCanvas::LookWhereMostChanged() {
  GraphCanvas& camera = canvases_[0];
  std::vector<const Box*> changed;
  for (NodeId id : drawing_->graph->changes()) {
    const Box* box = drawing_->picture.Find(id);
    if (box != nullptr && !box->open) changed.push_back(box);
    if (changed.size() >= graph::kMaxChanges) break;
  }
  const float half_width = camera.width() / kPartZoom / 2;
  const float half_height = camera.height() / kPartZoom / 2;
  size_t most = 0;
  for (const Box* middle : changed) {
    const float x = middle->x + middle->width / 2, y = middle->y + middle->height / 2;
    const auto count = static_cast<size_t>(std::ranges::count_if(changed, [&](const Box* box) {
      return std::abs(box->x + box->width / 2 - x) < half_width &&
             std::abs(box->y + box->height / 2 - y) < half_height;
    }));
    if (count <= most) continue;
    most = count;
    camera.x = x;
    camera.y = y;
    camera.zoom = kPartZoom;
  }
}

void ChangeCanvas::FitAll() {
  if (drawing_ == nullptr) return;
  canvases_[0].Fit(drawing_->picture.of[0]);
  Link(0);
  is_moved_ = true;
}

void ChangeCanvas::Zoom(float factor) { SetZoom(canvas(0).zoom * factor); }

void ChangeCanvas::SetZoom(float zoom) {
  canvases_[0].zoom = 1;
  canvases_[0].Zoom(zoom);
  Link(0);
  is_moved_ = true;
}

void ChangeCanvas::SetCamera(std::array<float, 3> camera) {
  canvases_[0].x = camera[0];
  canvases_[0].y = camera[1];
  canvases_[0].zoom = camera[2];
  Link(0);
  is_moved_ = true;
  wants_fit_ = false;
}

void ChangeCanvas::Highlight(std::unordered_set<uint32_t> highlighted, NodeId selected) {
  highlighted_ = std::move(highlighted);
  selected_ = selected;
}

void ChangeCanvas::Reveal(NodeId id) {
  const Box* box = id.valid() && drawing_ != nullptr ? drawing_->picture.Find(id) : nullptr;
  if (box == nullptr || wants_fit_ || canvas(0).Shows(*box)) return;
  const float zoom = canvas(0).zoom;
  canvases_[0].Center(*box);
  canvases_[0].zoom = std::max(zoom, std::min(canvas(0).zoom, kPartZoom));
  Link(0);
  is_moved_ = true;
}

bool ChangeCanvas::IsClosedFrame(NodeId id) const {
  const Box* box = drawing_->picture.Find(id);
  return box != nullptr && !box->open && !drawing_->graph->children(id).empty();
}

BoxStyle ChangeCanvas::StyleOf(Side side, NodeId id, const Theme& theme) const {
  const graph::ChangeGraph& graph = *drawing_->graph;
  const ChangeNode& node = graph[id];
  BoxStyle style;
  // A frame that this side has not stands for what moves in or out.
  const ChangeLook* look =
      LookOf(node[side].valid() ? node.KindOn(side) : analysis::ChangeKind::kMoved);
  if (look != nullptr) {
    style.color = theme[look->color];
    style.change = look->outline;
    style.sign = look->sign;
  } else if (IsClosedFrame(id) && graph.changed_inside(id) > 0) {
    style.color = theme[Color::kRewritten];
  } else {
    style.color = theme[Color::kLine];
    style.is_quiet = true;
  }
  const HeatPaint* heat = heat_[graph::IndexOf(side)].get();
  if (heat == nullptr || !node[side].valid()) return style;
  const double place = heat->facts().PlaceOf(heat->ValueOf(node[side]));
  style.fill = place > 0 ? HeatColor(theme, place) : theme[Color::kPanel];
  style.ink = place > 0 ? InkOn(theme, style.fill) : theme[Color::kTextSecondary];
  return style;
}

CanvasScene ChangeCanvas::SceneOf(Side side) const {
  const graph::ChangePicture& made = drawing_->picture;
  CanvasScene scene;
  scene.picture = &made.side(side);
  scene.ghosts = made.ghosts[graph::IndexOf(side)];
  scene.graph = graph_;
  scene.version = style_version_;
  scene.text = [this, side](NodeId id) {
    return graph::TextOf(*drawing_->graph, side, id, IsClosedFrame(id));
  };
  scene.is_group = [this](NodeId id) { return IsClosedFrame(id); };
  scene.style = [this, side](NodeId id) { return StyleOf(side, id, *theme_); };
  scene.explain = [this](NodeId id) { return Explain(id); };
  scene.wire_style = [this, side](uint32_t wire) {
    if (!drawing_->picture.is_wire_changed[graph::IndexOf(side)][wire]) return WireStyle();
    const bool is_before = side == Side::kBefore;
    return WireStyle{(*theme_)[is_before ? Color::kRemoved : Color::kAdded], is_before};
  };
  scene.selected = selected_;
  scene.highlighted = &highlighted_now_;
  return scene;
}

CanvasEvents ChangeCanvas::Draw(Frame& frame, Side side, float width, float height, bool minimap) {
  theme_ = &frame.theme;
  if (is_dark_ != frame.theme.dark()) ++style_version_;
  is_dark_ = frame.theme.dark();
  highlighted_now_ = highlighted_;
  if (hovered_.valid()) {
    highlighted_now_.insert(hovered_.index);
    // kNone, which no box has, where it is one node.
    highlighted_now_.insert((*drawing_->graph)[hovered_].other.index);
  }
  const size_t k = graph::IndexOf(side);
  const CanvasEvents events =
      canvases_[k].Draw(frame, side == Side::kBefore ? "##before" : "##after", {width, height},
                        SceneOf(side), minimap);
  if (events.hovered.valid()) hovered_next_ = events.hovered;
  if (events.moved) {
    Link(k);
    is_moved_ = true;
    wants_fit_ = false;
  }
  return events;
}

void ChangeCanvas::EndFrame() {
  hovered_ = std::exchange(hovered_next_, NodeId());
  if (!wants_fit_ || drawing_ == nullptr) return;
  // Until the user moves the camera it is fitted again with each drawing.
  wants_fit_ = false;
  is_moved_ = false;
  FitNow();
}

NodeId ChangeCanvas::Step(Side side, Command direction) const {
  if (drawing_ == nullptr) return NodeId();
  const graph::Picture& picture = drawing_->picture.side(side);
  const Box* here = selected_.valid() ? picture.Find(selected_) : nullptr;
  if (here == nullptr) return picture.boxes.empty() ? NodeId() : canvas(0).NearestToMiddle(picture);
  std::vector<NodeId> beside;
  for (const Box& box : picture.boxes) {
    if (!box.open) beside.push_back(box.node);
  }
  return graph::StepFrom(picture, *here, DirectionOf(direction), beside);
}

std::string ChangeCanvas::Explain(NodeId id) const {
  const graph::ChangeGraph& graph = *drawing_->graph;
  const ChangeNode& node = graph[id];
  const Side own = node[Side::kAfter].valid() ? Side::kAfter : Side::kBefore;
  std::string out(node.is_replaced() ? "replaced" : ToString(node.KindOn(own)));
  if (node.kind == analysis::ChangeKind::kMoved) {
    const auto computation = [&](Side side) {
      const hlo::Module& m = graph.module(side);
      const ChangeNode& here = node[side].valid() ? node : graph[node.other];
      return SafeText(m[m[m[here[side]].computation].name], 80);
    };
    out += fmt::format(" from {} to {}", computation(Side::kBefore), computation(Side::kAfter));
  }
  const bool is_one_text = node.kind == analysis::ChangeKind::kUnchanged;
  for (Side side : graph::kSides) {
    if (!node[side].valid() || (is_one_text && side == Side::kBefore)) continue;
    const char* when = is_one_text ? "" : side == Side::kBefore ? "before: " : "after: ";
    out += fmt::format("\n{}{}", when, HloLine(graph.module(side), node[side]));
  }
  const HeatPaint* heat = heat_[graph::IndexOf(own)].get();
  const double value = heat == nullptr ? 0 : heat->ValueOf(node[own]);
  if (value > 0)
    out += fmt::format("\n{}: {}", HeatRowOf(heat->facts().measure).title,
                       HeatText(heat->facts(), value));
  if (const uint32_t inside = graph.changed_inside(id); inside > 0)
    out += fmt::format("\n{} inside", graph::CountedText(inside, "change"));
  return out;
}

bool ChangeCanvas::Run(Command command) {
  switch (command) {
    case Command::kFit:
      Reveal(selected());
      return true;
    case Command::kFitAll:
      FitAll();
      return true;
    case Command::kGraphZoomIn:
      Zoom(1.25f);
      return true;
    case Command::kGraphZoomOut:
      Zoom(0.8f);
      return true;
    case Command::kGraphReadable:
      SetZoom(1);
      return true;
    default:
      return false;
  }
}

}  // namespace hloscope::viewer
