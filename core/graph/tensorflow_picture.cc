// Boxes in frames in lanes, and the wires between them, as SVG.
#include "core/graph/tensorflow_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "core/base/counted.h"
#include "core/base/text.h"
#include "core/graph/labels.h"
#include "core/graph/layout.h"
#include "core/graph/svg_shapes.h"

namespace hloscope::graph {
namespace {

constexpr uint32_t kOrange = 0xd9760a, kHull = 0x1566d1;
constexpr float kHullTitle = 26, kHullPadding = 14, kDeviceGap = 48, kDeviceHead = 44,
                kPaneHead = 64;
constexpr float kBoxRowGap = 52, kBoxGap = 24, kLegendHeight = 40;
constexpr size_t kReasonColumns = 40;
constexpr float kReasonLine = 16;

float PaneTextWidth(std::string_view text, float size) {
  return static_cast<float>(Columns(text)) * size * kCharacterWidth;
}

// The reason in lines that a box has room for, broken at blanks.
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

FlatNode SizeOfPaneBox(const TensorFlowBox& box) {
  float width = std::max(PaneTextWidth(Elide(box.title, kTitleColumns), kTitleSize),
                         PaneTextWidth(Elide(box.subtitle, kSubtitleColumns), kSubtitleSize));
  const std::vector<std::string> reason = ReasonLines(box);
  for (const std::string& line : reason)
    width = std::max(width, PaneTextWidth(line, kSubtitleSize));
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

class PaneWriter {
 public:
  PaneWriter(const TensorFlowPane& pane, const SvgColors& colors)
      : pane_(pane), boxes_(pane.boxes), colors_(colors) {}

  // The picture, beginning at (0, 0); its size is in `width` and `height` then.
  std::string Run() {
    for (const TensorFlowItem& item : boxes_.items) AddItemSize(item);
    const std::vector<FlatEdge> edges = EdgesOfWires(boxes_.wires);
    PaneLevel outer = LayOutLevel(sizes_, edges);
    spots_.resize(boxes_.items.size());
    if (boxes_.devices.size() > 1) {
      PlaceInLanes(outer.arrangement);
    } else {
      PlaceAsLaidOut(outer.layout);
    }
    for (size_t w = 0; w < boxes_.wires.size(); ++w) AddWire(boxes_.wires[w], outer.layout, w);
    for (size_t k = 0; k < boxes_.items.size(); ++k) AddItem(boxes_.items[k], inner_[k], spots_[k]);
    return Lanes() + wires_ + out_ + labels_;
  }

  float width = 0, height = 0;

 private:
  void AddItemSize(const TensorFlowItem& item) {
    if (item.cluster.empty()) {
      inner_.emplace_back();
      sizes_.push_back(SizeOfPaneBox(item.boxes.front()));
      return;
    }
    std::vector<FlatNode> nodes;
    for (const TensorFlowBox& box : item.boxes) nodes.push_back(SizeOfPaneBox(box));
    inner_.push_back(LayOutLevel(nodes, EdgesOfWires(item.wires)));
    const float title = PaneTextWidth(TitleOf(item), kSubtitleSize);
    sizes_.push_back({.width = std::max(inner_.back().layout.width, title) + 2 * kHullPadding,
                      .height = inner_.back().layout.height + kHullTitle + 2 * kHullPadding});
  }

  static std::string TitleOf(const TensorFlowItem& item) {
    return fmt::format("{}: {}", item.cluster, Counted(item.nodes, "node"));
  }

  void PlaceAsLaidOut(const FlatLayout& layout) {
    for (size_t k = 0; k < sizes_.size(); ++k) {
      const Point center = layout.center[k];
      spots_[k] = {center.x - sizes_[k].width / 2, kDeviceHead + center.y - sizes_[k].height / 2,
                   sizes_[k].width, sizes_[k].height};
    }
    width = layout.width;
    height = kDeviceHead + layout.height;
    lanes_.push_back({0, width});
  }

  // Rows as they are arranged, each item in the lane of its device.
  void PlaceInLanes(const Arrangement& arrangement) {
    const size_t lanes = boxes_.devices.size();
    auto lane_of = [&](uint32_t item) {
      return static_cast<size_t>(
          std::ranges::lower_bound(boxes_.devices, boxes_.items[item].device) -
          boxes_.devices.begin());
    };
    std::vector<float> widest(lanes, 160);
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
      const float title = PaneTextWidth(DeviceText(boxes_.devices[l]), kTitleSize);
      lanes_.push_back({width, std::max(widest[l], title) + 2 * kHullPadding});
      width += lanes_.back().second + kDeviceGap;
    }
    width -= kDeviceGap;
    float y = kDeviceHead + kHullPadding;
    for (const std::vector<uint32_t>& row : rows) {
      std::vector<float> used(lanes, 0);
      for (const uint32_t item : row) used[lane_of(item)] += sizes_[item].width + kBoxGap;
      std::vector<float> x(lanes);
      for (size_t l = 0; l < lanes; ++l)
        x[l] = lanes_[l].first + (lanes_[l].second - used[l] + kBoxGap) / 2;
      float tallest = 0;
      for (const uint32_t item : row) {
        float& at = x[lane_of(item)];
        spots_[item] = {at, y, sizes_[item].width, sizes_[item].height};
        at += sizes_[item].width + kBoxGap;
        tallest = std::max(tallest, sizes_[item].height);
      }
      y += row.empty() ? 0 : tallest + kBoxRowGap;
    }
    height = y;
  }

  static std::string DeviceText(const std::string& device) {
    if (device.empty()) return "no device yet";
    const size_t at = device.find("device:");
    return at == device.npos ? device : device.substr(at + std::string_view("device:").size());
  }

  std::string Lanes() const {
    std::string out;
    for (size_t l = 0; l < lanes_.size(); ++l) {
      const std::string device = l < boxes_.devices.size() ? boxes_.devices[l] : "";
      int64_t nodes = 0;
      for (const TensorFlowItem& item : boxes_.items)
        nodes += item.device == device ? item.nodes : 0;
      out += fmt::format(
          "<rect x=\"{:.1f}\" y=\"0\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"6\" fill=\"{}\"/>"
          "<text class=\"t\" x=\"{:.1f}\" y=\"20\">{}<tspan class=\"s\"> {}</tspan></text>\n",
          lanes_[l].first, lanes_[l].second, height, HexColor(colors_.raised),
          lanes_[l].first + kHullPadding, EscapeHtml(DeviceText(device)), Counted(nodes, "node"));
    }
    return out;
  }

  std::string LabelOf(const TensorFlowWire& wire) const {
    if (!wire.is_border && !wire.is_copied) return {};
    std::string text = wire.is_copied ? "copied" : "";
    if (wire.is_border && wire.unknown < wire.values)
      text += (text.empty() ? "" : " ") + BytesText(wire.bytes);
    if (wire.is_border && wire.unknown > 0)
      text += fmt::format("{}{} of unknown size", text.empty() ? "" : " + ", wire.unknown);
    return text;
  }

  void AddWire(const TensorFlowWire& wire, const FlatLayout& layout, size_t w) {
    const SvgArea& a = spots_[wire.from];
    const SvgArea& b = spots_[wire.to];
    std::string path;
    Point middle{};
    const bool is_routed = boxes_.devices.size() <= 1 && layout.point_count[w] > 1;
    if (is_routed) {
      for (uint32_t p = 0; p < layout.point_count[w]; ++p) {
        const Point& point = layout.points[layout.first_point[w] + p];
        path += fmt::format("{}{:.1f} {:.1f}", p == 0 ? "M" : "L", point.x, kDeviceHead + point.y);
      }
      const Point& last = layout.points[layout.first_point[w] + layout.point_count[w] - 1];
      middle = {last.x, kDeviceHead + last.y - 10};
      if (b.y < a.y) middle = {b.x + b.width / 2, b.y + b.height + 12};
    } else {
      const bool is_up = b.y < a.y + a.height;
      const Point from{a.x + a.width / 2, is_up ? a.y : a.y + a.height};
      const Point to{b.x + b.width / 2, is_up && b.y + b.height <= a.y ? b.y + b.height : b.y};
      const float bend = (to.y - from.y) / 2;
      path = fmt::format("M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", from.x, from.y,
                         from.x, from.y + bend, to.x, to.y - bend, to.x, to.y);
      middle = {(from.x + to.x) / 2, (from.y + to.y) / 2};
    }
    const uint32_t color = wire.is_copied ? colors_.host : wire.is_border ? kHull : colors_.wire;
    wires_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{}/>\n",
                          path, HexColor(color), wire.is_border || wire.is_copied ? "1.8" : "1",
                          wire.values == 0 ? " stroke-dasharray=\"2 3\"" : "");
    const std::string label = LabelOf(wire);
    if (label.empty()) return;
    const float label_width = PaneTextWidth(label, kSubtitleSize) + 6;
    labels_ += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"15\" rx=\"3\" fill=\"{}\"/>"
        "<text font-size=\"12\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\" "
        "style=\"fill:{}\">{}</text>\n",
        middle.x - label_width / 2, middle.y - 11, label_width, HexColor(colors_.raised), middle.x,
        middle.y, HexColor(color), EscapeHtml(label));
  }

  void AddItem(const TensorFlowItem& item, const PaneLevel& inner, const SvgArea& spot) {
    if (item.cluster.empty()) return AddBox(item.boxes.front(), spot, false);
    out_ += fmt::format(
        "<g><title>{}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
        "rx=\"10\" fill=\"{}\" stroke=\"{}\" stroke-width=\"2\"/><text class=\"s\" x=\"{:.1f}\" "
        "y=\"{:.1f}\">{}</text></g>\n",
        EscapeHtml(fmt::format("{} on {}: XLA compiles it as one program", TitleOf(item),
                               DeviceText(item.device))),
        spot.x, spot.y, spot.width, spot.height, HexColor(MixColors(colors_.ground, kHull, 0.1f)),
        HexColor(kHull), spot.x + kHullPadding, spot.y + 18, EscapeHtml(TitleOf(item)));
    const Point corner{spot.x + (spot.width - inner.layout.width) / 2,
                       spot.y + kHullTitle + kHullPadding};
    for (size_t w = 0; w < item.wires.size(); ++w) {
      std::string path;
      for (uint32_t p = 0; p < inner.layout.point_count[w]; ++p) {
        const Point& point = inner.layout.points[inner.layout.first_point[w] + p];
        path += fmt::format("{}{:.1f} {:.1f}", p == 0 ? "M" : "L", corner.x + point.x,
                            corner.y + point.y);
      }
      if (path.empty()) continue;
      out_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\"{}/>\n", path,
                          HexColor(colors_.wire),
                          item.wires[w].values == 0 ? " stroke-dasharray=\"2 3\"" : "");
    }
    for (size_t k = 0; k < item.boxes.size(); ++k) {
      const FlatNode size = SizeOfPaneBox(item.boxes[k]);
      const Point center = inner.layout.center[k];
      AddBox(item.boxes[k],
             {corner.x + center.x - size.width / 2, corner.y + center.y - size.height / 2,
              size.width, size.height},
             true);
    }
  }

  void AddBox(const TensorFlowBox& box, const SvgArea& spot, bool is_inside) {
    const bool is_outside = !box.reason.empty();
    const uint32_t edge = is_outside ? kOrange : is_inside ? kHull : colors_.line;
    const uint32_t fill = is_outside ? MixColors(colors_.ground, kOrange, 0.18f)
                                     : (box.is_plumbing ? colors_.raised : colors_.node);
    fmt::format_to(
        std::back_inserter(out_),
        "<g><title>{}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
        "rx=\"4\" fill=\"{}\" stroke=\"{}\" stroke-width=\"{}\"/>",
        EscapeHtml(box.tip), spot.x, spot.y, spot.width, spot.height, HexColor(fill),
        HexColor(edge), is_outside ? "2" : "1");
    const auto line = [&](std::string_view style, std::string_view text, float y) {
      fmt::format_to(std::back_inserter(out_), "<text {} x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
                     style, spot.x + kNodePadding, spot.y + y, EscapeHtml(text));
    };
    line("class=\"t\"", Elide(box.title, kTitleColumns), 18);
    line("class=\"s\"", Elide(box.subtitle, kSubtitleColumns), 35);
    float y = 51;
    for (const std::string& text : ReasonLines(box)) {
      line(fmt::format("class=\"s\" style=\"fill:{}\"", HexColor(MixColors(kOrange, 0, 0.3f))),
           text, y);
      y += kReasonLine;
    }
    out_ += "</g>\n";
  }

  const TensorFlowPane& pane_;
  const TensorFlowBoxes& boxes_;
  const SvgColors& colors_;
  std::vector<FlatNode> sizes_;
  std::vector<PaneLevel> inner_;
  std::vector<SvgArea> spots_;
  std::vector<std::pair<float, float>> lanes_;  // left and width
  std::string wires_, out_, labels_;
};

}  // namespace

std::string ToSvg(std::span<const TensorFlowPane> panes, const SvgColors& colors) {
  std::string out;
  float x = kSvgMargin, below = 0;
  for (const TensorFlowPane& pane : panes) {
    PaneWriter writer(pane, colors);
    const std::string picture = writer.Run();
    out += fmt::format(
        "<text class=\"h\" x=\"{0:.0f}\" y=\"28\">{1}</text>\n<text class=\"s\" x=\"{0:.0f}\" "
        "y=\"48\">{2}</text>\n<g transform=\"translate({0:.0f} {3:.0f})\">\n{4}</g>\n",
        x, EscapeHtml(pane.heading), EscapeHtml(pane.sentence), kPaneHead, picture);
    const float words =
        std::max(PaneTextWidth(pane.heading, 16), PaneTextWidth(pane.sentence, 12.5f));
    x += std::max(writer.width, words) + kSvgMargin;
    below = std::max(below, writer.height);
  }
  const float legend = kPaneHead + below + kLegendHeight / 2;
  float at = kSvgMargin;
  const auto entry = [&](uint32_t color, uint32_t fill, std::string_view text) {
    out += fmt::format(
        "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"18\" height=\"12\" rx=\"3\" fill=\"{}\" "
        "stroke=\"{}\" stroke-width=\"2\"/><text class=\"s\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n",
        at, legend, HexColor(fill), HexColor(color), at + 24, legend + 11, EscapeHtml(text));
    at += 24 + PaneTextWidth(text, kSubtitleSize) + 20;
  };
  entry(kHull, MixColors(colors.ground, kHull, 0.1f), "a cluster, which XLA compiles");
  entry(kOrange, MixColors(colors.ground, kOrange, 0.18f), "outside all clusters, and why");
  entry(colors.line, colors.raised, "constants, arguments, copies");
  entry(kHull, kHull, "values across the border of a cluster");
  entry(colors.host, colors.host, "copied between devices");
  const float width = std::max(x, at + kSvgMargin);
  const float height = legend + kLegendHeight;
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
             "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n<style>{2}</style>\n<rect width=\"{0:.0f}\" "
             "height=\"{1:.0f}\" fill=\"{3}\"/>\n",
             width, height, SvgStyle(colors), HexColor(colors.ground)) +
         out + "</svg>\n";
}

}  // namespace hloscope::graph
