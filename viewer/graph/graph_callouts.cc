// Texts next to boxes that are too small for them: what is shown, what moves, the largest names.
#include <fmt/format.h>

#include <algorithm>
#include <array>
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
  PaintTagNear(text, a, b, font, frame_.theme[Color::kAccent], false);
}

// Where it covers no box and no other text, as near as there is such a place; far from its box with
// a line to it. Elsewhere it would hide what it stands on, and is left out.
void GraphPainter::PaintTagNear(const std::string& text, ImVec2 a, ImVec2 b, float font,
                                uint32_t color, bool is_above) {
  const float width = static_cast<float>(graph::Columns(text)) * font * graph::kCharacterWidth;
  const ImVec2 low = list_.GetClipRectMin(), high = list_.GetClipRectMax();
  const float near = 5 * frame_.scale, far = 20 * near, line = font + 4;
  const auto is_free = [&](ImVec2 at) {
    const graph::Area area{at.x - 3, at.y - 1, at.x + width + 3, at.y + font + 3};
    return at.x >= low.x + 3 && at.x + width + 3 <= high.x && at.y >= low.y + 2 &&
           at.y + line <= high.y && !CoversBox(area, graph::NodeId()) &&
           std::ranges::none_of(tags_, [&](const graph::Area& tag) { return tag.Meets(area); });
  };
  for (float gap = near; gap <= far; gap += near) {
    const float below = b.y + gap, above = a.y - line - gap, middle = (a.y + b.y - line) / 2;
    const float left = std::clamp(a.x, low.x + 4, std::max(low.x + 4, high.x - width - 4));
    std::array<ImVec2, 6> places = {{{left, below},
                                     {left, above},
                                     {b.x + gap, middle},
                                     {a.x - width - gap, middle},
                                     {b.x - width, below},
                                     {b.x - width, above}}};
    if (is_above) std::ranges::reverse(places);
    const auto at = std::ranges::find_if(places, is_free);
    if (at == places.end()) continue;
    if (gap > 3 * near) {
      list_.AddLine({std::clamp(at->x + width / 2, a.x, b.x), std::clamp(at->y, a.y, b.y)},
                    {at->x + width / 2, at->y < a.y ? at->y + line : at->y}, color);
    }
    PaintTagIfFree(text, *at, font, color);
    return;
  }
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
  const ImVec2 low = ToScreen(box.x, box.y), high = ToScreen(box.x + box.width, box.y + box.height);
  PaintTagNear(text, low, high, font, frame_.theme[Color::kDeviceFallback], true);
}

}  // namespace hloscope::viewer
