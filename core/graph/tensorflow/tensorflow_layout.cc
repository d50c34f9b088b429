// Clusters are laid out by themselves; where there are several devices each row is divided into
// lanes.
#include "core/graph/tensorflow/tensorflow_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/counted.h"
#include "core/graph/labels.h"

namespace hloscope::graph {
namespace {

constexpr float kDeviceGap = 48, kBoxRowGap = 52, kBoxGap = 24, kMinLane = 160;
constexpr size_t kReasonColumns = 40;

FlatNode SizeOfPaneBox(const TensorFlowBox& box) {
  float width = std::max(MonoWidth(Elide(box.title, kTitleColumns), kTitleSize),
                         MonoWidth(Elide(box.subtitle, kSubtitleColumns), kSubtitleSize));
  const std::vector<std::string> reason = ReasonLines(box);
  for (const std::string& line : reason) width = std::max(width, MonoWidth(line, kSubtitleSize));
  return {.width = width + 2 * kNodePadding,
          .height = kNodeHeight + static_cast<float>(reason.size()) * kReasonLine};
}

LayoutOptions PaneOptions() {
  LayoutOptions options;
  options.max_span = 1 << 20;
  options.node_gap = kBoxGap;
  options.row_gap = kBoxRowGap;
  return options;
}

std::vector<FlatEdge> EdgesOfWires(const std::vector<TensorFlowWire>& wires) {
  std::vector<FlatEdge> edges;
  for (const TensorFlowWire& wire : wires)
    edges.push_back({.from = wire.from, .to = wire.to, .weight = wire.values > 0 ? 1.0f : 0.2f});
  return edges;
}

// A graph of boxes laid out by itself.
struct PaneLevel {
  Arrangement arrangement;
  FlatLayout layout;
};
PaneLevel LayOutLevel(const std::vector<FlatNode>& nodes, const std::vector<FlatEdge>& edges) {
  PaneLevel level;
  level.arrangement = Arrange(nodes, edges, PaneOptions());
  const std::vector<EdgeEnds> ends(edges.size());
  level.layout = Place(level.arrangement, nodes, edges, ends, PaneOptions());
  return level;
}

// A box, and where it is open what is in it laid out by itself.
struct BoxLayout {
  FlatNode size;
  PaneLevel level;
  std::vector<BoxLayout> inside;
};
BoxLayout LayOutBox(const TensorFlowBox& box) {
  BoxLayout out;
  if (!box.is_open()) {
    out.size = SizeOfPaneBox(box);
    return out;
  }
  std::vector<FlatNode> sizes;
  for (const TensorFlowBox& each : box.inside) {
    out.inside.push_back(LayOutBox(each));
    sizes.push_back(out.inside.back().size);
  }
  out.level = LayOutLevel(sizes, EdgesOfWires(box.wires));
  const float title = MonoWidth(box.title + "  " + box.subtitle, kSubtitleSize);
  out.size = {.width = std::max(out.level.layout.width, title) + 2 * kClusterPadding,
              .height = out.level.layout.height + kClusterTitle + 2 * kClusterPadding};
  return out;
}

std::vector<TensorFlowPath> PathsIn(const FlatLayout& layout, size_t wires, Point corner) {
  std::vector<TensorFlowPath> paths(wires);
  for (size_t w = 0; w < wires; ++w) {
    for (uint32_t p = 0; p < layout.point_count[w]; ++p) {
      const Point& point = layout.points[layout.first_point[w] + p];
      paths[w].points.push_back({corner.x + point.x, corner.y + point.y});
    }
  }
  return paths;
}

// The corner of what is in a frame.
Point CornerIn(const SvgArea& frame, const FlatLayout& layout) {
  return {frame.x + (frame.width - layout.width) / 2, frame.y + kClusterTitle + kClusterPadding};
}

TensorFlowSpot PlaceBox(const TensorFlowBox& box, const BoxLayout& laid, const SvgArea& area) {
  TensorFlowSpot spot{.area = area, .inside = {}, .wires = {}};
  if (!box.is_open()) return spot;
  const FlatLayout& layout = laid.level.layout;
  const Point corner = CornerIn(area, layout);
  for (size_t b = 0; b < box.inside.size(); ++b) {
    const FlatNode& size = laid.inside[b].size;
    const Point center = layout.center[b];
    spot.inside.push_back(
        PlaceBox(box.inside[b], laid.inside[b],
                 {corner.x + center.x - size.width / 2, corner.y + center.y - size.height / 2,
                  size.width, size.height}));
  }
  spot.wires = PathsIn(layout, box.wires.size(), corner);
  return spot;
}

class PaneLayouter {
 public:
  explicit PaneLayouter(const TensorFlowBoxes& boxes) : boxes_(boxes) {}

  TensorFlowLayout Run() {
    for (const TensorFlowItem& item : boxes_.items) AddItemSize(item);
    const std::vector<FlatEdge> edges = EdgesOfWires(boxes_.wires);
    const PaneLevel outer = LayOutLevel(sizes_, edges);
    out_.items.resize(boxes_.items.size());
    boxes_.devices.size() > 1 ? PlaceInLanes(outer.arrangement) : PlaceAsLaidOut(outer.layout);
    for (TensorFlowLane& lane : out_.lanes) {
      for (const TensorFlowItem& item : boxes_.items)
        lane.nodes += item.device == lane.device ? item.nodes : 0;
    }
    for (size_t w = 0; w < boxes_.wires.size(); ++w)
      out_.wires.push_back(PathOf(boxes_.wires[w], outer.layout, w));
    for (size_t k = 0; k < boxes_.items.size(); ++k) PlaceInside(k);
    return std::move(out_);
  }

 private:
  void AddItemSize(const TensorFlowItem& item) {
    std::vector<BoxLayout>& boxes = boxes_of_.emplace_back();
    std::vector<FlatNode> nodes;
    for (const TensorFlowBox& box : item.boxes) {
      boxes.push_back(LayOutBox(box));
      nodes.push_back(boxes.back().size);
    }
    if (item.cluster.empty()) {
      inner_.emplace_back();
      sizes_.push_back(nodes.front());
      return;
    }
    inner_.push_back(LayOutLevel(nodes, EdgesOfWires(item.wires)));
    const float title = MonoWidth(TitleOf(item) + "  " + DeviceText(item.device), kSubtitleSize);
    sizes_.push_back({.width = std::max(inner_.back().layout.width, title) + 2 * kClusterPadding,
                      .height = inner_.back().layout.height + kClusterTitle + 2 * kClusterPadding});
  }

  void PlaceAsLaidOut(const FlatLayout& layout) {
    for (size_t k = 0; k < sizes_.size(); ++k) {
      const Point center = layout.center[k];
      out_.items[k] = {center.x - sizes_[k].width / 2,
                       kDeviceHead + center.y - sizes_[k].height / 2, sizes_[k].width,
                       sizes_[k].height};
    }
    const std::string device = boxes_.devices.empty() ? std::string() : boxes_.devices.front();
    out_.width = std::max(layout.width, TitleWidth(device));
    out_.height = kDeviceHead + layout.height + kClusterPadding;
    out_.lanes.push_back({0, out_.width, device});
  }

  static float TitleWidth(const std::string& device) {
    return MonoWidth(DeviceText(device) + " 99999 nodes", kTitleSize) + 2 * kClusterPadding;
  }

  // Rows as they are arranged, each item in the lane of its device.
  void PlaceInLanes(const Arrangement& arrangement) {
    const size_t lanes = boxes_.devices.size();
    auto lane_of = [&](uint32_t item) {
      return static_cast<size_t>(
          std::ranges::lower_bound(boxes_.devices, boxes_.items[item].device) -
          boxes_.devices.begin());
    };
    std::vector<float> widest(lanes, kMinLane);
    std::vector<std::vector<uint32_t>> rows(arrangement.row_count());
    for (size_t r = 0; r < rows.size(); ++r) {
      std::vector<float> row(lanes, 0);
      for (uint32_t i = arrangement.row_first[r]; i < arrangement.row_first[r + 1]; ++i) {
        const uint32_t item = arrangement.row_items[i];
        if (item >= arrangement.node_count) continue;  // a bend
        rows[r].push_back(item);
        row[lane_of(item)] += sizes_[item].width + kBoxGap;
      }
      for (size_t l = 0; l < lanes; ++l) widest[l] = std::max(widest[l], row[l]);
    }
    for (size_t l = 0; l < lanes; ++l) {
      const float width = std::max(widest[l] + 2 * kClusterPadding, TitleWidth(boxes_.devices[l]));
      out_.lanes.push_back({out_.width, width, boxes_.devices[l]});
      out_.width += width + kDeviceGap;
    }
    out_.width -= kDeviceGap;
    float y = kDeviceHead + kClusterPadding;
    for (const std::vector<uint32_t>& row : rows) {
      std::vector<float> used(lanes, 0);
      for (const uint32_t item : row) used[lane_of(item)] += sizes_[item].width + kBoxGap;
      std::vector<float> x(lanes);
      for (size_t l = 0; l < lanes; ++l)
        x[l] = out_.lanes[l].left + (out_.lanes[l].width - used[l] + kBoxGap) / 2;
      float tallest = 0;
      for (const uint32_t item : row) {
        float& at = x[lane_of(item)];
        out_.items[item] = {at, y, sizes_[item].width, sizes_[item].height};
        at += sizes_[item].width + kBoxGap;
        tallest = std::max(tallest, sizes_[item].height);
      }
      y += row.empty() ? 0 : tallest + kBoxRowGap;
    }
    out_.height = y;
  }

  TensorFlowPath PathOf(const TensorFlowWire& wire, const FlatLayout& layout, size_t w) const {
    const SvgArea& a = out_.items[wire.from];
    const SvgArea& b = out_.items[wire.to];
    TensorFlowPath path;
    if (boxes_.devices.size() <= 1 && layout.point_count[w] > 1) {
      for (uint32_t p = 0; p < layout.point_count[w]; ++p) {
        const Point& point = layout.points[layout.first_point[w] + p];
        path.points.push_back({point.x, kDeviceHead + point.y});
      }
      path.label = {path.points.back().x, path.points.back().y - 10};
      if (b.y < a.y) path.label = {b.x + b.width / 2, b.y + b.height + 12};
      return path;
    }
    const bool is_up = b.y < a.y + a.height;
    const Point from{a.x + a.width / 2, is_up ? a.y : a.y + a.height};
    const Point to{b.x + b.width / 2, is_up && b.y + b.height <= a.y ? b.y + b.height : b.y};
    path.points = {from, to};
    path.label = {(from.x + to.x) / 2, (from.y + to.y) / 2};
    return path;
  }

  void PlaceInside(size_t k) {
    const TensorFlowItem& item = boxes_.items[k];
    const SvgArea& spot = out_.items[k];
    std::vector<TensorFlowSpot>& boxes = out_.boxes.emplace_back();
    if (item.cluster.empty()) {
      boxes.push_back(PlaceBox(item.boxes.front(), boxes_of_[k].front(), spot));
      out_.inner.emplace_back();
      return;
    }
    const FlatLayout& layout = inner_[k].layout;
    const Point corner = CornerIn(spot, layout);
    for (size_t b = 0; b < item.boxes.size(); ++b) {
      const FlatNode& size = boxes_of_[k][b].size;
      const Point center = layout.center[b];
      boxes.push_back(PlaceBox(item.boxes[b], boxes_of_[k][b],
                               {corner.x + center.x - size.width / 2,
                                corner.y + center.y - size.height / 2, size.width, size.height}));
    }
    out_.inner.push_back(PathsIn(layout, item.wires.size(), corner));
  }

  const TensorFlowBoxes& boxes_;
  std::vector<FlatNode> sizes_;
  std::vector<PaneLevel> inner_;                  // by item
  std::vector<std::vector<BoxLayout>> boxes_of_;  // by item
  TensorFlowLayout out_;
};

}  // namespace

float MonoWidth(std::string_view text, float size) {
  return static_cast<float>(Columns(text)) * size * kCharacterWidth;
}

std::string DeviceText(const std::string& device) {
  if (device.empty()) return "no device yet";
  const size_t at = device.find("device:");
  return at == device.npos ? device : device.substr(at + std::string_view("device:").size());
}

std::string TitleOf(const TensorFlowItem& cluster) {
  return fmt::format("{}: {}", cluster.cluster, Counted(cluster.nodes, "node"));
}

std::string LabelOf(const TensorFlowWire& wire) {
  if (!wire.is_border && !wire.is_copied) return {};
  std::string text = wire.is_copied ? "copied" : "";
  if (wire.is_border && wire.unknown < wire.values)
    text += (text.empty() ? "" : " ") + BytesText(wire.bytes);
  if (wire.is_border && wire.unknown > 0)
    text += fmt::format("{}{} of unknown size", text.empty() ? "" : " + ", wire.unknown);
  return text;
}

// Broken at blanks.
std::vector<std::string> ReasonLines(const TensorFlowBox& box) {
  constexpr size_t kMaxLines = 3;
  std::vector<std::string> lines;
  std::string_view rest = box.reason;
  while (!rest.empty() && lines.size() < kMaxLines) {
    size_t end = rest.size();
    if (end > kReasonColumns && lines.size() + 1 < kMaxLines) {
      end = rest.rfind(' ', kReasonColumns);
      if (end == rest.npos || end == 0) end = kReasonColumns;
    }
    lines.push_back(ElideEnd(rest.substr(0, end), kReasonColumns));
    rest.remove_prefix(end);
    while (rest.starts_with(' ')) rest.remove_prefix(1);
  }
  return lines;
}

TensorFlowLayout LayOut(const TensorFlowBoxes& boxes) { return PaneLayouter(boxes).Run(); }

}  // namespace hloscope::graph
