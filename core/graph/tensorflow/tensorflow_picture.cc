// Boxes in frames in lanes, and the wires between them, as SVG.
#include "core/graph/tensorflow/tensorflow_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "core/base/counted.h"
#include "core/base/text.h"
#include "core/graph/labels.h"
#include "core/graph/svg_shapes.h"
#include "core/graph/tensorflow/tensorflow_layout.h"

namespace hloscope::graph {
namespace {

constexpr float kPaneHead = 64, kLegendHeight = 40;

std::string Line(const TensorFlowPath& path) {
  std::string out;
  for (size_t p = 0; p < path.points.size(); ++p)
    out += fmt::format("{}{:.1f} {:.1f}", p == 0 ? "M" : "L", path.points[p].x, path.points[p].y);
  return out;
}

class PaneWriter {
 public:
  PaneWriter(const TensorFlowBoxes& boxes, const SvgColors& colors)
      : boxes_(boxes), layout_(LayOut(boxes)), colors_(colors) {}

  float width() const { return layout_.width; }
  float height() const { return layout_.height; }

  // The picture, beginning at (0, 0).
  std::string Run() {
    for (size_t w = 0; w < boxes_.wires.size(); ++w) AddWire(boxes_.wires[w], layout_.wires[w]);
    for (size_t k = 0; k < boxes_.items.size(); ++k) AddItem(k);
    return Lanes() + wires_ + out_ + labels_;
  }

 private:
  std::string Lanes() const {
    std::string out;
    for (const TensorFlowLane& lane : layout_.lanes) {
      out += fmt::format(
          "<rect x=\"{:.1f}\" y=\"0\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"6\" fill=\"{}\"/>"
          "<text class=\"t\" x=\"{:.1f}\" y=\"20\">{}<tspan class=\"s\"> {}</tspan></text>\n",
          lane.left, lane.width, layout_.height, HexColor(colors_.raised),
          lane.left + kClusterPadding, EscapeHtml(DeviceText(lane.device)),
          Counted(lane.nodes, "node"));
    }
    return out;
  }

  void AddWire(const TensorFlowWire& wire, const TensorFlowPath& path) {
    std::string line = Line(path);
    if (boxes_.devices.size() > 1) {
      const Point from = path.points.front(), to = path.points.back();
      const float bend = (to.y - from.y) / 2;
      line = fmt::format("M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", from.x, from.y,
                         from.x, from.y + bend, to.x, to.y - bend, to.x, to.y);
    }
    const uint32_t color = wire.is_copied   ? colors_.host
                           : wire.is_border ? kClusterColor
                                            : colors_.wire;
    wires_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{}/>\n",
                          line, HexColor(color), wire.is_border || wire.is_copied ? "1.8" : "1",
                          wire.values == 0 ? " stroke-dasharray=\"2 3\"" : "");
    const std::string label = LabelOf(wire);
    if (label.empty()) return;
    const float label_width = MonoWidth(label, kSubtitleSize) + 6;
    labels_ += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"15\" rx=\"3\" fill=\"{}\"/>"
        "<text font-size=\"12\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\" "
        "style=\"fill:{}\">{}</text>\n",
        path.label.x - label_width / 2, path.label.y - 11, label_width, HexColor(colors_.raised),
        path.label.x, path.label.y, HexColor(color), EscapeHtml(label));
  }

  void AddItem(size_t k) {
    const TensorFlowItem& item = boxes_.items[k];
    const SvgArea& spot = layout_.items[k];
    if (item.cluster.empty()) return AddBox(item.boxes.front(), layout_.boxes[k].front(), false);
    out_ += fmt::format(
        "<g><title>{}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
        "rx=\"10\" fill=\"{}\" stroke=\"{}\" stroke-width=\"2\"/><text class=\"s\" x=\"{:.1f}\" "
        "y=\"{:.1f}\">{}</text></g>\n",
        EscapeHtml(fmt::format("{} on {}: XLA compiles it as one program", TitleOf(item),
                               DeviceText(item.device))),
        spot.x, spot.y, spot.width, spot.height,
        HexColor(MixColors(colors_.ground, kClusterColor, 0.1f)), HexColor(kClusterColor),
        spot.x + kClusterPadding, spot.y + 18, EscapeHtml(TitleOf(item)));
    AddInnerWires(item.wires, layout_.inner[k]);
    for (size_t b = 0; b < item.boxes.size(); ++b) AddBox(item.boxes[b], layout_.boxes[k][b], true);
  }

  void AddInnerWires(const std::vector<TensorFlowWire>& wires,
                     const std::vector<TensorFlowPath>& paths) {
    for (size_t w = 0; w < wires.size(); ++w) {
      const std::string path = Line(paths[w]);
      if (path.empty()) continue;
      out_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\"{}/>\n", path,
                          HexColor(colors_.wire),
                          wires[w].values == 0 ? " stroke-dasharray=\"2 3\"" : "");
    }
  }

  // A scope that is open is a frame with its title.
  void AddOpenBox(const TensorFlowBox& box, const TensorFlowSpot& at, bool is_inside) {
    const uint32_t edge = !box.reason.empty() ? kOutsideColor
                          : is_inside         ? kClusterColor
                                              : colors_.line;
    fmt::format_to(std::back_inserter(out_),
                   "<g><title>{}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
                   "height=\"{:.1f}\" rx=\"6\" fill=\"{}\" stroke=\"{}\"/><text class=\"s\" "
                   "x=\"{:.1f}\" y=\"{:.1f}\">{}  {}</text></g>\n",
                   EscapeHtml(box.tip), at.area.x, at.area.y, at.area.width, at.area.height,
                   HexColor(MixColors(colors_.ground, edge, 0.06f)), HexColor(edge),
                   at.area.x + kClusterPadding, at.area.y + 18, EscapeHtml(box.title),
                   EscapeHtml(box.subtitle));
    AddInnerWires(box.wires, at.wires);
    for (size_t b = 0; b < box.inside.size(); ++b) AddBox(box.inside[b], at.inside[b], is_inside);
  }

  void AddBox(const TensorFlowBox& box, const TensorFlowSpot& at, bool is_inside) {
    if (box.is_open()) return AddOpenBox(box, at, is_inside);
    const SvgArea& spot = at.area;
    const bool is_outside = !box.reason.empty();
    const uint32_t edge = is_outside ? kOutsideColor : is_inside ? kClusterColor : colors_.line;
    const uint32_t fill = is_outside ? MixColors(colors_.ground, kOutsideColor, 0.18f)
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
      line(
          fmt::format("class=\"s\" style=\"fill:{}\"", HexColor(MixColors(kOutsideColor, 0, 0.3f))),
          text, y);
      y += kReasonLine;
    }
    out_ += "</g>\n";
  }

  const TensorFlowBoxes& boxes_;
  const TensorFlowLayout layout_;
  const SvgColors& colors_;
  std::string wires_, out_, labels_;
};

// The last one is not in every legend.
constexpr std::array<TensorFlowLegendRow, 5> kLegend = {{
    {TensorFlowHue::kCluster, "a cluster, which XLA compiles, and values across its boundary"},
    {TensorFlowHue::kOutside, "outside all clusters, and why"},
    {TensorFlowHue::kPlumbing, "constants, arguments, results, copies"},
    {TensorFlowHue::kCopied, "copied between devices"},
    {TensorFlowHue::kPlain, "in no cluster, as before marking"},
}};

struct SvgSwatch {
  uint32_t edge, fill;
};
SvgSwatch SwatchOf(TensorFlowHue hue, const SvgColors& colors) {
  switch (hue) {
    case TensorFlowHue::kCluster:
      return {kClusterColor, MixColors(colors.ground, kClusterColor, 0.1f)};
    case TensorFlowHue::kOutside:
      return {kOutsideColor, MixColors(colors.ground, kOutsideColor, 0.18f)};
    case TensorFlowHue::kPlumbing:
      return {colors.line, colors.raised};
    case TensorFlowHue::kCopied:
      return {colors.host, colors.host};
    case TensorFlowHue::kPlain:
      break;
  }
  return {colors.line, colors.node};
}

}  // namespace

bool HasPlain(const TensorFlowBoxes& boxes) {
  return std::ranges::any_of(boxes.items, [](const TensorFlowItem& item) {
    const TensorFlowBox& box = item.boxes.front();
    return item.cluster.empty() && box.reason.empty() && !box.is_plumbing;
  });
}

std::span<const TensorFlowLegendRow> LegendOf(bool has_plain) {
  return std::span(kLegend).first(kLegend.size() - (has_plain ? 0 : 1));
}

std::string ToSvg(std::span<const TensorFlowPane> panes, const SvgColors& colors) {
  std::string out;
  float x = kSvgMargin, below = 0;
  for (const TensorFlowPane& pane : panes) {
    PaneWriter writer(pane.boxes, colors);
    const std::string picture = writer.Run();
    out += fmt::format(
        "<text class=\"h\" x=\"{0:.0f}\" y=\"28\">{1}</text>\n<text class=\"s\" x=\"{0:.0f}\" "
        "y=\"48\">{2}</text>\n<g transform=\"translate({0:.0f} {3:.0f})\">\n{4}</g>\n",
        x, EscapeHtml(pane.heading), EscapeHtml(pane.sentence), kPaneHead, picture);
    const float words = std::max(MonoWidth(pane.heading, 16), MonoWidth(pane.sentence, 12.5f));
    x += std::max(writer.width(), words) + kSvgMargin;
    below = std::max(below, writer.height());
  }
  const float legend = kPaneHead + below + kLegendHeight / 2;
  float at = kSvgMargin;
  const bool has_plain = std::ranges::any_of(panes, HasPlain, &TensorFlowPane::boxes);
  for (const TensorFlowLegendRow& row : LegendOf(has_plain)) {
    const SvgSwatch swatch = SwatchOf(row.hue, colors);
    out += fmt::format(
        "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"18\" height=\"12\" rx=\"3\" fill=\"{}\" "
        "stroke=\"{}\" stroke-width=\"2\"/><text class=\"s\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n",
        at, legend, HexColor(swatch.fill), HexColor(swatch.edge), at + 24, legend + 11,
        EscapeHtml(row.text));
    at += 24 + MonoWidth(row.text, kSubtitleSize) + 20;
  }
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
