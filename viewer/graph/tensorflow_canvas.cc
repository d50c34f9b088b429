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

constexpr Color kClusterHue = Color::kKernel1, kOutsideHue = Color::kWarning,
                kCopiedHue = Color::kDeviceFallback, kPlumbingHue = Color::kDeviceNone;
// From which on a picture that does not fit is looked at from its top instead.
constexpr float kReadable = 0.8f;

}  // namespace

void TensorFlowCanvas::Show(const std::shared_ptr<const TensorFlowDrawing>& drawing) {
  if (drawing_ == drawing) return;
  drawing_ = drawing;
  ++number_;
  is_fitted_ = false;
  bands_.clear();
  for (const graph::TensorFlowLane& lane : drawing->layout.lanes)
    bands_.push_back({{lane.left, 0, lane.left + lane.width, drawing->layout.height},
                      graph::DeviceText(lane.device) + " " + Counted(lane.nodes, "node")});
  const int32_t node = std::exchange(node_, -1);
  selected_ = {};
  Select(node);
  Find(std::exchange(sought_, {}));
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
  canvas_.y = std::min(picture.height / 2, (canvas_.height() / 2 - 20) / canvas_.zoom);
}

BoxStyle TensorFlowCanvas::StyleOf(const Theme& theme, graph::NodeId id) const {
  BoxStyle style;
  const graph::TensorFlowBox* box = drawing_->BoxOf(id);
  if (box == nullptr) {
    style.color = theme[kClusterHue];
    style.kernel = 0;  // of any, so that the frame has the colour
    style.change = graph::Outline::kRectangle;
    return style;
  }
  style.weight = static_cast<uint32_t>(std::min<int64_t>(box->nodes, 1 << 20));
  const bool is_inside = !drawing_->ItemOf(id).cluster.empty();
  const bool is_outside = !box->reason.empty();
  style.color = theme[is_outside         ? kOutsideHue
                      : is_inside        ? kClusterHue
                      : box->is_plumbing ? kPlumbingHue
                                         : Color::kElementwise];
  style.change =
      box->is_plumbing && !is_outside ? graph::Outline::kThinRectangle : graph::Outline::kRectangle;
  style.is_quiet = box->is_plumbing;
  return style;
}

WireStyle TensorFlowCanvas::StyleOfWire(const Theme& theme, uint32_t wire) const {
  const graph::TensorFlowWire& of = drawing_->WireOf(wire);
  WireStyle style;
  style.is_dashed = of.values == 0;
  if (of.is_copied) {
    style.color = theme[kCopiedHue];
  } else if (of.is_border) {
    style.color = theme[kClusterHue];
  }
  return style;
}

WireLabel TensorFlowCanvas::LabelOfWire(const Theme& theme, uint32_t wire) const {
  if (drawing_->wires[wire].item >= 0) return {};
  const graph::TensorFlowWire& of = drawing_->WireOf(wire);
  return {graph::LabelOf(of), drawing_->PathOf(wire).label,
          theme[of.is_copied ? kCopiedHue : kClusterHue]};
}

std::string TensorFlowCanvas::Explain(graph::NodeId id) const {
  const graph::TensorFlowItem& item = drawing_->ItemOf(id);
  if (const graph::TensorFlowBox* box = drawing_->BoxOf(id)) return box->tip;
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
  // Wires from other items end at the frame of a cluster.
  const TensorFlowDrawing::Shown& at = drawing_->shown[selected_.index];
  const bool is_upright = way == graph::Direction::kUp || way == graph::Direction::kDown;
  if (!next.valid() && is_upright && !drawing_->ItemOf(selected_).cluster.empty()) {
    const auto frame = std::ranges::find_if(picture.boxes, [&](const graph::Box& box) {
      return box.open && drawing_->shown[box.node.index].item == at.item;
    });
    if (frame != picture.boxes.end()) next = graph::StepFrom(picture, *frame, way, boxes);
  }
  return next;
}

std::vector<LegendEntry> TensorFlowLegend(const Theme& theme) {
  return {{theme[kClusterHue], "a cluster, which XLA compiles, and values across its boundary"},
          {theme[kOutsideHue], "outside all clusters, and why"},
          {theme[kPlumbingHue], "constants, arguments, results"},
          {theme[kCopiedHue], "copied between devices"}};
}

}  // namespace hloscope::viewer
