// SVG of a selection: instructions in layers, operands above users, order within a layer by
// barycentre.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/hlo/render.h"

namespace hloscope::hlo {
namespace {

constexpr double kBoxWidth = 190, kBoxHeight = 38, kGapX = 16, kGapY = 34, kMargin = 20;
constexpr size_t kLabelBytes = 30;  // what fits a box

struct Drawing {
  std::vector<InstructionId> nodes;
  std::vector<std::vector<uint32_t>> operands;  // by node, as node numbers
  std::vector<uint32_t> layer;
  std::vector<double> x;
};

Drawing Connect(const Module& module, std::span<const InstructionId> selection) {
  Drawing d{{selection.begin(), selection.end()}, {}, {}, {}};
  std::vector<uint32_t> node_of(module.instructions().size(), UINT32_MAX);
  for (uint32_t k = 0; k < d.nodes.size(); ++k) node_of[d.nodes[k].index] = k;
  d.operands.resize(d.nodes.size());
  d.layer.resize(d.nodes.size(), 0);
  for (uint32_t k = 0; k < d.nodes.size(); ++k) {
    for (InstructionId operand : module.operands(d.nodes[k])) {
      uint32_t o = node_of[operand.index];
      if (o == UINT32_MAX) continue;
      d.operands[k].push_back(o);
      d.layer[k] = std::max(d.layer[k], d.layer[o] + 1);
    }
  }
  return d;
}

// Places every layer from left to right in the order of the mean position of its operands.
void PlaceLayers(Drawing& d) {
  std::vector<std::vector<uint32_t>> layers;
  for (uint32_t k = 0; k < d.nodes.size(); ++k) {
    if (layers.size() <= d.layer[k]) layers.resize(d.layer[k] + 1);
    layers[d.layer[k]].push_back(k);
  }
  d.x.resize(d.nodes.size());
  for (std::vector<uint32_t>& layer : layers) {
    std::vector<std::pair<double, uint32_t>> keyed;
    for (uint32_t k : layer) {
      double sum = 0;
      for (uint32_t o : d.operands[k]) sum += d.x[o];
      keyed.emplace_back(
          d.operands[k].empty() ? 0 : sum / static_cast<double>(d.operands[k].size()), k);
    }
    std::ranges::stable_sort(keyed, {}, &std::pair<double, uint32_t>::first);
    double next = kMargin;
    for (auto& [wanted, k] : keyed) {
      d.x[k] = std::max(next, wanted);
      next = d.x[k] + kBoxWidth + kGapX;
    }
  }
}

double TopOf(const Drawing& d, uint32_t node) {
  return kMargin + d.layer[node] * (kBoxHeight + kGapY);
}

std::string Label(std::string_view text) {
  if (text.size() <= kLabelBytes) return EscapeHtml(text);
  return EscapeHtml(text.substr(0, kLabelBytes - 1)) + "…";
}

}  // namespace

std::string ToSvg(const Module& module, std::span<const InstructionId> selection) {
  Drawing d = Connect(module, selection);
  PlaceLayers(d);
  double width = kMargin, height = kMargin;
  for (uint32_t k = 0; k < d.nodes.size(); ++k) {
    width = std::max(width, d.x[k] + kBoxWidth + kMargin);
    height = std::max(height, TopOf(d, k) + kBoxHeight + kMargin);
  }
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 "
      "0 {0:.0f} {1:.0f}\" "
      "font-family=\"monospace\" font-size=\"10\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"#ffffff\"/>\n",
      width, height);
  for (uint32_t k = 0; k < d.nodes.size(); ++k) {
    for (uint32_t o : d.operands[k]) {
      double x1 = d.x[o] + kBoxWidth / 2, y1 = TopOf(d, o) + kBoxHeight,
             x2 = d.x[k] + kBoxWidth / 2, y2 = TopOf(d, k);
      out += fmt::format(
          "<path d=\"M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}\" fill=\"none\" "
          "stroke=\"#888888\"/>\n",
          x1, y1, x1, y1 + kGapY / 2, x2, y2 - kGapY / 2, x2, y2);
    }
  }
  for (uint32_t k = 0; k < d.nodes.size(); ++k) {
    InstructionId id = d.nodes[k];
    double x = d.x[k], y = TopOf(d, k);
    out += fmt::format(
        "<g><title>{}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" rx=\"4\" "
        "fill=\"{}\" stroke=\"#555555\"/>",
        EscapeHtml(module.name(id)), x, y, kBoxWidth, kBoxHeight, ColorOf(module[id].opcode));
    out += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text><text x=\"{:.1f}\" y=\"{:.1f}\">{}</text></g>\n",
        x + 5, y + 15, Label(module.name(id)), x + 5, y + 30,
        Label(std::string(ToString(module[id].opcode)) + " " + ToString(module.shape(id), false)));
  }
  return out + "</svg>\n";
}

}  // namespace hloscope::hlo
