// Boxes, wires and words of a graph of TensorFlow.
#include "viewer/graph/tensorflow_canvas.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/counted.h"
#include "core/graph/stepping.h"
#include "viewer/graph/graph_pane.h"
#include "viewer/model/search_index.h"

namespace hloscope::viewer {
namespace {

using graph::TensorFlowHue;

Color ColorOf(TensorFlowHue hue) {
  switch (hue) {
    case TensorFlowHue::kCluster:
      return Color::kKernel1;
    case TensorFlowHue::kOutside:
      return Color::kWarning;
    case TensorFlowHue::kPlumbing:
      return Color::kDeviceNone;
    case TensorFlowHue::kCopied:
      return Color::kDeviceFallback;
    case TensorFlowHue::kPlain:
      break;
  }
  return Color::kElementwise;
}
// From which on a picture that does not fit is looked at from its top instead: no text is below 11
// pixels, and boxes are as wide as their texts need.
constexpr float kReadable = 11 / graph::kSubtitleSize;

}  // namespace

void TensorFlowCanvas::Show(const std::shared_ptr<const TensorFlowDrawing>& drawing) {
  if (drawing_ == drawing) return;
  const std::shared_ptr<const TensorFlowDrawing> before = std::exchange(drawing_, drawing);
  ++number_;
  is_fitted_ = is_fitted_ && before->graph == drawing->graph;
  if (is_fitted_) KeepToggled(*before);
  toggled_.reset();
  has_plain_ = graph::HasPlain(drawing->pane.boxes);
  bands_.clear();
  for (const graph::TensorFlowLane& lane : drawing->layout.lanes)
    bands_.push_back({{lane.left, 0, lane.left + lane.width, drawing->layout.height},
                      graph::DeviceText(lane.device) + " " + Counted(lane.nodes, "node")});
  const int32_t node = std::exchange(node_, -1);
  selected_ = {};
  Select(node);
  Find(std::exchange(sought_, {}));
}

void TensorFlowCanvas::KeepToggled(const TensorFlowDrawing& before) {
  if (!toggled_) return;
  const graph::Box* from = before.Find(*toggled_);
  const graph::Box* to = drawing_->Find(*toggled_);
  if (from == nullptr || to == nullptr) return;
  canvas_.x += to->x - from->x;
  canvas_.y += to->y - from->y;
  // Of a frame its beginning, as large as it was.
  const float wide = canvas_.width() / canvas_.zoom, tall = canvas_.height() / canvas_.zoom;
  const float left = to->x - 20, top = to->y - 20;
  canvas_.x = std::clamp(canvas_.x, std::min(to->x + to->width + 20 - wide / 2, left + wide / 2),
                         left + wide / 2);
  canvas_.y = std::clamp(canvas_.y, std::min(to->y + to->height + 20 - tall / 2, top + tall / 2),
                         top + tall / 2);
}

void TensorFlowCanvas::Select(int32_t node) {
  if (drawing_ == nullptr || node == node_) return;
  node_ = node;
  const auto at = static_cast<size_t>(node);
  selected_ = node >= 0 && at < drawing_->shown_of_node.size() ? drawing_->shown_of_node[at]
                                                               : graph::NodeId();
  wants_selected_ = selected_.valid();
}

void TensorFlowCanvas::Find(const std::string& words) {
  if (words == sought_ || drawing_ == nullptr) return;
  sought_ = words;
  found_.clear();
  found_nodes_ = 0;
  if (words.empty()) return;
  for (size_t n = 0; n < drawing_->graph->nodes.size(); ++n) {
    const dump::TensorFlowNode& node = drawing_->graph->nodes[n];
    const graph::NodeId shown = drawing_->shown_of_node[n];
    if (!shown.valid() || !HasWords(node.name + " " + node.op + " " + node.cluster, words))
      continue;
    ++found_nodes_;
    found_.insert(shown.index);
  }
}

// Of one that cannot be read as a whole the top.
void TensorFlowCanvas::Fit() {
  const graph::Picture& picture = drawing_->picture;
  canvas_.FitArea({0, 0, picture.width, picture.height});
  if (canvas_.zoom >= kReadable) return;
  const float across = (canvas_.width() - 40) / picture.width;
  canvas_.zoom = std::clamp(across, kReadable, 1.0f);
  if (canvas_.zoom > across) canvas_.x = BusiestPart();
  canvas_.y = std::min(picture.height / 2, (canvas_.height() / 2 - 20) / canvas_.zoom);
}

// Of what is in view at the top: where most boxes are.
float TensorFlowCanvas::BusiestPart() const {
  constexpr size_t kMost = 1000;  // that are looked at
  const float wide = canvas_.width() / canvas_.zoom - 40;
  const float bottom = canvas_.height() / canvas_.zoom - 20;
  std::vector<const graph::Box*> seen;
  for (const graph::Box& box : drawing_->picture.boxes) {
    if (!box.open && box.y + box.height < bottom && seen.size() < kMost) seen.push_back(&box);
  }
  size_t most = 0;
  float best = canvas_.x;
  for (const graph::Box* first : seen) {
    const auto count = std::ranges::count_if(seen, [&](const graph::Box* box) {
      return box->x >= first->x && box->x + box->width <= first->x + wide;
    });
    if (static_cast<size_t>(count) <= most) continue;
    most = static_cast<size_t>(count);
    best = first->x + wide / 2;
  }
  return std::min(best, std::max(drawing_->picture.width - wide / 2, wide / 2));
}

BoxStyle TensorFlowCanvas::StyleOf(const Theme& theme, graph::NodeId id) const {
  BoxStyle style;
  const graph::TensorFlowBox* box = drawing_->BoxOf(id);
  if (box == nullptr) {
    style.color = theme[ColorOf(TensorFlowHue::kCluster)];
    style.kernel = 0;  // of any, so that the frame has the colour
    style.change = graph::Outline::kRectangle;
    return style;
  }
  style.weight = static_cast<uint32_t>(std::min<int64_t>(box->nodes, 1 << 20));
  const bool is_inside = !drawing_->ItemOf(id).cluster.empty();
  const bool is_outside = !box->reason.empty();
  style.color = theme[ColorOf(is_outside         ? TensorFlowHue::kOutside
                              : is_inside        ? TensorFlowHue::kCluster
                              : box->is_plumbing ? TensorFlowHue::kPlumbing
                                                 : TensorFlowHue::kPlain)];
  style.change =
      box->is_plumbing && !is_outside ? graph::Outline::kThinRectangle : graph::Outline::kRectangle;
  style.is_quiet = box->is_plumbing;
  return style;
}

WireStyle TensorFlowCanvas::StyleOfWire(const Theme& theme, uint32_t wire) const {
  const graph::TensorFlowWire& of = *drawing_->wires[wire].of;
  WireStyle style;
  style.is_dashed = of.values == 0;
  if (of.is_copied) {
    style.color = theme[ColorOf(TensorFlowHue::kCopied)];
  } else if (of.is_border) {
    style.color = theme[ColorOf(TensorFlowHue::kCluster)];
  }
  return style;
}

WireLabel TensorFlowCanvas::LabelOfWire(const Theme& theme, uint32_t wire) const {
  const auto& [of, path, is_inside] = drawing_->wires[wire];
  if (is_inside) return {};
  return {graph::LabelOf(*of), path->label,
          theme[ColorOf(of->is_copied ? TensorFlowHue::kCopied : TensorFlowHue::kCluster)]};
}

std::string TensorFlowCanvas::Explain(graph::NodeId id) const {
  const graph::TensorFlowItem& item = drawing_->ItemOf(id);
  if (const graph::TensorFlowBox* box = drawing_->BoxOf(id)) {
    if (box->nodes == 1) return box->tip;
    return box->tip + (box->is_open() ? "\nclick: close" : "\nclick: open");
  }
  return fmt::format("{} on {}: XLA compiles it as one program", graph::TitleOf(item),
                     graph::DeviceText(item.device));
}

CanvasEvents TensorFlowCanvas::Draw(Frame& frame, const char* id, float width, float height,
                                    bool minimap) {
  const Theme& theme = frame.theme;
  if (theme.dark() != was_dark_) ++style_;
  was_dark_ = theme.dark();
  CanvasScene scene;
  scene.text = [this](graph::NodeId node) -> graph::NodeText {
    const graph::TensorFlowBox* box = drawing_->BoxOf(node);
    if (box != nullptr) return {box->title, box->subtitle};
    const graph::TensorFlowItem& item = drawing_->ItemOf(node);
    return {graph::TitleOf(item), graph::DeviceText(item.device)};
  };
  scene.is_group = [this](graph::NodeId node) {
    const graph::TensorFlowBox* box = drawing_->BoxOf(node);
    return box != nullptr && box->nodes > 1;
  };
  scene.lines = [this](graph::NodeId node) {
    const graph::TensorFlowBox* box = drawing_->BoxOf(node);
    return box == nullptr ? std::vector<std::string>() : graph::ReasonLines(*box);
  };
  scene.style = [this, &theme](graph::NodeId node) { return StyleOf(theme, node); };
  scene.wire_style = [this, &theme](uint32_t wire) { return StyleOfWire(theme, wire); };
  scene.wire_label = [this, &theme](uint32_t wire) { return LabelOfWire(theme, wire); };
  scene.explain = [this](graph::NodeId node) { return Explain(node); };
  scene.picture = &drawing_->picture;
  scene.bands = bands_;
  scene.graph = number_;
  scene.version = style_;
  scene.selected = selected_;
  scene.found = found_.empty() ? nullptr : &found_;
  const CanvasEvents events = canvas_.Draw(frame, id, {width, height}, scene, minimap);
  // Its size is known now; the next frame has it.
  if (!is_fitted_) Fit();
  if (wants_selected_ || !is_fitted_) {
    const graph::Box* box = selected_.valid() ? drawing_->picture.Find(selected_) : nullptr;
    if (box != nullptr && !canvas_.Shows(*box)) canvas_.Center(*box);
    wants_selected_ = false;
  }
  is_fitted_ = true;
  return events;
}

graph::NodeId TensorFlowCanvas::Step(Command direction) const {
  const graph::Picture& picture = drawing_->picture;
  std::vector<graph::NodeId> boxes;
  for (const graph::Box& box : picture.boxes) {
    if (!box.open) boxes.push_back(box.node);
  }
  const graph::Box* here = selected_.valid() ? picture.Find(selected_) : nullptr;
  if (here == nullptr) return boxes.empty() ? graph::NodeId() : boxes.front();
  const graph::Direction way = DirectionOf(direction);
  graph::NodeId next = graph::StepFrom(picture, *here, way, boxes);
  // Wires from outside end at the frame around it.
  const bool is_upright = way == graph::Direction::kUp || way == graph::Direction::kDown;
  graph::NodeId frame = drawing_->shown[selected_.index].frame;
  while (!next.valid() && is_upright && frame.valid()) {
    next = graph::StepFrom(picture, *picture.Find(frame), way, boxes);
    frame = drawing_->shown[frame.index].frame;
  }
  return next;
}

std::vector<LegendEntry> TensorFlowLegend(const Theme& theme, bool has_plain) {
  std::vector<LegendEntry> legend;
  for (const graph::TensorFlowLegendRow& row : graph::LegendOf(has_plain))
    legend.push_back({theme[ColorOf(row.hue)], std::string(row.text)});
  return legend;
}

}  // namespace hloscope::viewer
