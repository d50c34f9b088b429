// Lanes behind a graph, further lines of its boxes, and what its wires carry.
#include <algorithm>
#include <cmath>

#include "viewer/graph/graph_painter.h"

namespace hloscope::viewer {
namespace {

// Sizes of text in logical pixels; the zoom from which on wires have room for words.
constexpr float kSmallest = 11, kLargest = 15, kLabelZoom = 0.45f;

}  // namespace

void GraphPainter::PaintLines(uint32_t index, ImVec2 a, ImVec2 b) {
  const float left = a.x + (graph::kNodePadding + 1) * zoom_;
  const float font = std::round(std::max(graph::kSubtitleSize * zoom_, kSmallest * frame_.scale));
  float y = a.y + 42 * zoom_;
  for (const std::string& line : scene_.lines(scene_.picture->boxes[index].node)) {
    if (y + font > b.y + 1) return;
    list_.AddText(frame_.mono, font, {left, y}, styles_[index].color,
                  graph::ElideEnd(line, ColumnsWithin(font, left, b.x)).c_str());
    y += std::max(16 * zoom_, font);
  }
}

void GraphPainter::PaintBands() {
  const float font = std::round(
      std::clamp(graph::kTitleSize * zoom_, kSmallest * frame_.scale, kLargest * frame_.scale));
  for (const CanvasBand& band : scene_.bands) {
    if (!seen_.Meets(band.area)) continue;
    const ImVec2 a = ToScreen(band.area.left, band.area.top);
    const ImVec2 b = ToScreen(band.area.right, band.area.bottom);
    list_.AddRectFilled(a, b, frame_.theme.With(Color::kRaised, 0.45f), 6 * zoom_);
    // The title stays in view as long as any of the band does.
    const float left = std::max(a.x, list_.GetClipRectMin().x) + 8 * frame_.scale;
    const float top = std::max(a.y, list_.GetClipRectMin().y) + 5 * frame_.scale;
    const size_t columns = ColumnsWithin(font, left, std::min(b.x, list_.GetClipRectMax().x));
    if (columns < kMinColumns || top + font > b.y) continue;
    list_.AddText(frame_.mono, font, {left, top}, frame_.theme[Color::kTextSecondary],
                  graph::ElideEnd(band.title, columns).c_str());
  }
}

// Where nothing else is written; those that cost most first.
void GraphPainter::PaintWireLabels() {
  if (!scene_.wire_label || zoom_ < kLabelZoom * frame_.scale) return;
  std::vector<uint32_t> wires;
  index_.ForEachWire(seen_, [&](uint32_t w) { wires.push_back(w); });
  std::ranges::sort(wires, [&](uint32_t a, uint32_t b) {
    const int64_t of_a = scene_.picture->wires[a].bytes, of_b = scene_.picture->wires[b].bytes;
    return of_a != of_b ? of_a > of_b : a < b;
  });
  const float font = std::round(
      std::clamp(graph::kSubtitleSize * zoom_, kSmallest * frame_.scale, kLargest * frame_.scale));
  for (const uint32_t w : wires) {
    const WireLabel label = scene_.wire_label(w);
    if (label.text.empty()) continue;
    const float width =
        static_cast<float>(graph::Columns(label.text)) * font * graph::kCharacterWidth;
    const ImVec2 middle = ToScreen(label.at.x, label.at.y);
    PaintTagIfFree(label.text, {middle.x - width / 2, middle.y - font / 2}, font, label.color);
  }
}

}  // namespace hloscope::viewer
