// What is written on boxes and on wires, and the labels of jumps beside boxes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "viewer/graph/graph_painter.h"

namespace hloscope::viewer {
namespace {

using graph::Box;
using graph::NodeId;
using graph::NodeKind;

// Of a box in logical pixels, from which on both lines of text are drawn.
constexpr float kTwoLinesHeight = 34;
constexpr float kFontOfBox = 0.55f;  // of one line of text, in its box

}  // namespace

// How many characters fit from `left` to the right side of a box.
size_t GraphPainter::ColumnsWithin(float font, float left, float right) const {
  const float room = (right - 2 * zoom_ - left) / (font * graph::kCharacterWidth);
  return static_cast<size_t>(std::max(room, 0.0f));
}

void GraphPainter::PaintText(uint32_t index, ImVec2 a, ImVec2 b) {
  const Box& box = scene_.picture->boxes[index];
  const graph::NodeText& whole = texts_(box.node);
  const graph::NodeText part =
      box.count > 0 ? graph::TextOf(*scene_.tree, box.node, box.count) : graph::NodeText();
  const graph::NodeText& text = box.count > 0 ? part : whole;
  const float left = a.x + (graph::kNodePadding + 1) * zoom_;
  const BoxStyle& style = styles_[index];
  // Of boxes with further lines the two first are as high as those of any other.
  const float height = scene_.lines ? graph::kNodeHeight * zoom_ : b.y - a.y;
  const auto ink = [&](bool is_quiet) {
    if (style.fill != 0) return style.ink;
    return frame_.theme[is_quiet ? Color::kTextSecondary : Color::kText];
  };
  const uint32_t color = ink(style.is_quiet);
  if (height < kTwoLinesHeight * frame_.scale) {
    // As large as its box has room for.
    const float room = b.x - 2 * zoom_ - left;
    const auto columns = static_cast<float>(std::max<size_t>(graph::Columns(text.title), 1));
    const float fits =
        std::min(kFontOfBox * height, room / ((columns + 0.2f) * graph::kCharacterWidth));
    const float font =
        std::floor(std::clamp(fits, kMinFont * frame_.scale, kMaxFont * frame_.scale));
    const std::string name = scene_.TitleWithin(box.node, text, ColumnsWithin(font, left, b.x));
    list_.AddText(frame_.mono, font, {left, (2 * a.y + height - font) / 2 - frame_.scale}, color,
                  name.c_str());
    return;
  }
  const float lines = height / graph::kNodeHeight;  // zoom of a box of two lines
  const float title = std::round(std::max(graph::kTitleSize * lines, kMinFont * frame_.scale));
  const float subtitle =
      std::round(std::max(graph::kSubtitleSize * lines, kMinFont * frame_.scale));
  // Boxes with further lines are as wide as their names need.
  const size_t room = ColumnsWithin(title, left, b.x);
  const std::string name =
      scene_.lines ? graph::Elide(text.title, room) : scene_.TitleWithin(box.node, text, room);
  list_.AddText(frame_.mono, title, {left, a.y + 5 * lines}, color, name.c_str());
  // Boxes of the devices may be narrower than their texts.
  const size_t columns = ColumnsWithin(subtitle, left, b.x);
  if (!scene_.lines && columns < kMinColumns && columns < graph::Columns(text.subtitle)) return;
  list_.AddText(frame_.mono, subtitle, {left, a.y + 24 * lines}, ink(true),
                graph::ElideEnd(text.subtitle, columns).c_str());
  if (scene_.lines) PaintLines(index, a, b);
}

// What a wire carries, in its middle, where there is room for it between boxes and their hulls.
void GraphPainter::PaintShape(const graph::Wire& wire) {
  const Box* from = wire.from.valid() ? scene_.picture->Find(wire.from) : nullptr;
  if (scene_.tree == nullptr || from == nullptr || wire.point_count < 2) return;
  const graph::Node& node = (*scene_.tree)[wire.from];
  if (node.kind != NodeKind::kInstruction) return;
  const hlo::Shape& shape = scene_.tree->module().shape(node.instruction);
  if (!shape.IsArray()) return;
  const graph::Point p = scene_.picture->points[wire.first_point];
  const graph::Point q = scene_.picture->points[wire.first_point + 1];
  const ImVec2 a = ToScreen(p.x, p.y), b = ToScreen(q.x, q.y);
  const float font = std::round(kMinFont * frame_.scale);
  if (b.y - a.y < 4 * font) return;
  const std::string text = graph::Elide(ToString(shape, false), 24);
  const float width = static_cast<float>(graph::Columns(text)) * font * graph::kCharacterWidth;
  const ImVec2 at((a.x + b.x - width) / 2, (a.y + b.y - font) / 2);
  if (CoversBox({at.x - 3, at.y - 1, at.x + width + 3, at.y + font + 3}, NodeId())) return;
  PaintTagIfFree(text, at, font, frame_.theme[Color::kTextSecondary]);
}

void GraphPainter::PaintChips(uint32_t index) {
  const Box& box = scene_.picture->boxes[index];
  const ImVec2 a = ToScreen(box.x, box.y), b = ToScreen(box.x + box.width, box.y + box.height);
  auto at = arriving_->find(box.node.index);
  const float font = std::round(std::max(10 * zoom_, kMinFont * frame_.scale));
  if (at != arriving_->end()) PaintChip(at->second, {a.x, a.y - font - 3}, b.x - a.x, font, true);
  at = leaving_->find(box.node.index);
  if (at != leaving_->end()) PaintChip(at->second, {a.x, b.y + 2}, b.x - a.x, font, false);
}

// "↓ add.5 +2": edges that are not drawn, and where they lead; where there is room between rows.
void GraphPainter::PaintChip(const std::vector<NodeId>& others, ImVec2 at, float width, float font,
                             bool up) {
  const std::string more =
      others.size() > 1 ? fmt::format(" +{}", others.size() - 1) : std::string();
  const auto columns = static_cast<size_t>(width / (font * graph::kCharacterWidth));
  if (columns < more.size() + 7) return;
  const std::string name = others[0].valid()
                               ? graph::Elide(scene_.Title(others[0]), columns - more.size() - 2)
                               : "outside";
  const std::string text = (up ? "↑ " : "↓ ") + name + more;
  const float text_width = static_cast<float>(graph::Columns(text)) * font * graph::kCharacterWidth;
  const ImVec2 end(at.x + text_width + 4, at.y + font + 2);
  if (CoversBox({at.x, at.y, end.x, end.y}, NodeId())) return;
  list_.AddRectFilled(at, end, frame_.theme.With(Color::kCanvas, 0.85f), 2);
  list_.AddText(frame_.mono, font, {at.x + 2, at.y}, frame_.theme[Color::kAccent], text.c_str());
  if (others[0].valid()) chips_.push_back({at, end, others[0]});
}

NodeId GraphPainter::JumpAt(ImVec2 mouse) const {
  for (const Chip& chip : chips_) {
    if (mouse.x >= chip.a.x && mouse.x <= chip.b.x && mouse.y >= chip.a.y && mouse.y <= chip.b.y)
      return chip.target;
  }
  return NodeId();
}

}  // namespace hloscope::viewer
