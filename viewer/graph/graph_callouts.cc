// Texts next to boxes that are too small for them: what is shown, what moves, the largest names.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "viewer/graph/graph_painter.h"

namespace hloscope::viewer {
namespace {

constexpr size_t kMaxTags = 200;
constexpr size_t kMaxNamed = 300;  // boxes that a name is tried for
constexpr size_t kNameColumns = 16;
constexpr float kNameFont = 11;
constexpr float kReadableHeight = 14;  // of a box, in logical pixels

}  // namespace

// Text on a ground of its own, that can be read over wires.
void GraphPainter::PaintTag(const std::string& text, ImVec2 at, float font, uint32_t color) {
  const float width = static_cast<float>(graph::Columns(text)) * font * graph::kCharacterWidth;
  list_.AddRectFilled({at.x - 3, at.y - 1}, {at.x + width + 3, at.y + font + 3},
                      frame_.theme.With(Color::kCanvas, 0.9f), 2);
  list_.AddText(frame_.mono, font, at, color, text.c_str());
}

// Overlapping texts are left out: both are readable at a higher zoom.
bool GraphPainter::PaintTagIfFree(const std::string& text, ImVec2 at, float font, uint32_t color) {
  const float width = static_cast<float>(graph::Columns(text)) * font * graph::kCharacterWidth;
  const graph::Area area{at.x - 3, at.y - 1, at.x + width + 3, at.y + font + 3};
  if (tags_.size() > kMaxTags ||
      std::ranges::any_of(tags_, [&](const graph::Area& other) { return other.Meets(area); }))
    return false;
  tags_.push_back(area);
  PaintTag(text, at, font, color);
  return true;
}

// What is selected, where its box is too small for its name; which box holds the kernel shown.
void GraphPainter::PaintCallouts() {
  const auto& boxes = scene_.picture->box_of_node;
  const auto holder = boxes.find(scene_.enclosing.index);
  if (scene_.enclosing.valid() && holder != boxes.end())
    PaintCallout(holder->second, scene_.enclosing_note);
  const auto selected = boxes.find(scene_.selected.index);
  if (!scene_.selected.valid() || selected == boxes.end() || scene_.selected == scene_.enclosing)
    return;
  if (!IsReadable(selected->second)) PaintCallout(selected->second, texts_(scene_.selected).title);
}

// True where enough of its title is on a box.
bool GraphPainter::IsReadable(uint32_t index) const {
  const graph::Box& box = scene_.picture->boxes[index];
  const ImVec2 a = ToScreen(box.x, box.y), b = ToScreen(box.x + box.width, box.y + box.height);
  const float character = std::round(12 * frame_.scale) * graph::kCharacterWidth;
  const auto wanted =
      static_cast<float>(std::min<size_t>(graph::Columns(texts_(box.node).title), 10));
  return b.y - a.y >= kReadableHeight * frame_.scale &&
         (b.x - a.x) > (wanted + 3) * character * 0.8f;
}

void GraphPainter::PaintCallout(uint32_t index, const std::string& whole) {
  const graph::Box& box = scene_.picture->boxes[index];
  if (box.open) return;
  const ImVec2 a = ToScreen(box.x, box.y), b = ToScreen(box.x + box.width, box.y + box.height);
  const float font = std::round(12 * frame_.scale);
  const float character = font * graph::kCharacterWidth;
  const ImVec2 low = list_.GetClipRectMin(), high = list_.GetClipRectMax();
  if (b.x < low.x || a.x > high.x || b.y < low.y || a.y > high.y) return;
  const std::string text =
      graph::Elide(whole, static_cast<size_t>(std::max(6.0f, (high.x - low.x) / character - 4)));
  const float width = static_cast<float>(graph::Columns(text)) * character;
  const float gap = 5 * frame_.scale, line = font + 4;
  const auto fit = [&](ImVec2 at) {
    return ImVec2(std::clamp(at.x, low.x + 4, std::max(low.x + 4, high.x - width - 4)),
                  std::clamp(at.y, low.y + 2, std::max(low.y + 2, high.y - line)));
  };
  // Below, above, or next to it: the first of them that covers no other box.
  const ImVec2 places[] = {fit({a.x, b.y + gap}), fit({a.x, a.y - line - gap}),
                           fit({b.x + gap, (a.y + b.y - line) / 2}),
                           fit({a.x - width - gap, (a.y + b.y - line) / 2})};
  const auto free = std::ranges::find_if(places, [&](ImVec2 at) {
    return !CoversBox({at.x, at.y, at.x + width, at.y + font}, graph::NodeId());
  });
  PaintTagIfFree(text, free == std::end(places) ? places[0] : *free, font,
                 frame_.theme[Color::kAccent]);
}

// True where an area of the screen overlaps any closed box but one.
bool GraphPainter::CoversBox(const graph::Area& area, graph::NodeId but) const {
  const auto across = [&](float px) { return at_.x + (px - middle_.x) / (zoom_ * stretch_); };
  const auto down = [&](float py) { return at_.y + (py - middle_.y) / zoom_; };
  bool covers = false;
  index_.ForEachBox({across(area.left), down(area.top), across(area.right), down(area.bottom)},
                    [&](uint32_t k) {
                      const graph::Box& box = scene_.picture->boxes[k];
                      covers |= !box.open && box.node != but;
                    });
  return covers;
}

// Where boxes are too small for text: the names of those that most is in, as far as there is room.
// Only those of groups may cover smaller boxes.
void GraphPainter::PaintNames(const std::vector<uint32_t>& boxes) {
  std::vector<uint32_t> large;
  for (uint32_t k : boxes) {
    if (styles_[k].weight > 1) large.push_back(k);
  }
  const auto is_group = [&](uint32_t k) { return scene_.IsGroup(scene_.picture->boxes[k].node); };
  const size_t count = std::min(large.size(), kMaxNamed);
  std::ranges::partial_sort(large, large.begin() + static_cast<std::ptrdiff_t>(count),
                            std::ranges::greater(),
                            [&](uint32_t k) { return std::pair(is_group(k), styles_[k].weight); });
  const float font = std::round(kNameFont * frame_.scale);
  for (uint32_t k : std::span(large).first(count)) {
    const graph::Box& box = scene_.picture->boxes[k];
    const ImVec2 a = ToScreen(box.x, box.y), b = ToScreen(box.x + box.width, box.y + box.height);
    const std::string name = graph::Elide(texts_(box.node).title, kNameColumns);
    const float width = static_cast<float>(graph::Columns(name)) * font * graph::kCharacterWidth;
    // The colour of the box stays to be seen at its left.
    const ImVec2 at(a.x + 6 * frame_.scale, (a.y + b.y - font) / 2);
    if (!is_group(k) && CoversBox({at.x, at.y, at.x + width, at.y + font}, box.node)) continue;
    PaintTagIfFree(name, at, font, frame_.theme[Color::kText]);
  }
}

void GraphPainter::PaintTransfer(uint32_t index) {
  const graph::Box& box = scene_.picture->boxes[index];
  const analysis::Transfer* transfer = styles_[index].transfer;
  std::string text(styles_[index].note);
  if (transfer != nullptr) {
    const bool to_host = transfer->direction == analysis::TransferDirection::kToHost;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", to_host ? "→ host" : "→ device",
                        transfer->bytes < 0 ? "size unknown" : graph::BytesText(transfer->bytes));
  }
  if (text.empty()) return;
  const float font = std::round(std::max(kNameFont * frame_.scale, 11 * zoom_));
  // Above the box, where its right end is, as labels of jumps begin at the left; else beside it.
  const ImVec2 low = ToScreen(box.x, box.y), high = ToScreen(box.x + box.width, box.y + box.height);
  const float width = static_cast<float>(graph::Columns(text)) * font * graph::kCharacterWidth;
  const float gap = 4 * frame_.scale, middle = (low.y + high.y - font) / 2;
  const ImVec2 places[] = {{high.x - width, low.y - font - gap},
                           {high.x + gap, middle},
                           {low.x - width - gap, middle},
                           {high.x - width, high.y + gap}};
  const auto free = std::ranges::find_if(places, [&](ImVec2 at) {
    return !CoversBox({at.x - 3, at.y - 1, at.x + width + 3, at.y + font + 3}, graph::NodeId());
  });
  PaintTagIfFree(text, free == std::end(places) ? places[0] : *free, font,
                 frame_.theme[Color::kDeviceFallback]);
}

}  // namespace hloscope::viewer
