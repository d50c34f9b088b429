// The painter: how much is drawn depends on how large a node is on the screen.
#include "viewer/graph/graph_painter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "viewer/graph/graph_outline.h"
#include "viewer/widgets/verdict_mark.h"

namespace hloscope::viewer {
namespace {

using graph::Box;
using graph::NodeId;
using graph::Outline;

// Heights of a node in logical pixels from which on text, outlines and areas are drawn.
constexpr float kTextHeight = 14, kOutlineHeight = 6, kFlatHeight = 2;
constexpr float kShapeZoom = 0.9f;  // from which on wires say what shape they carry
constexpr float kChipZoom = 0.45f;  // from which on labels of jumps fit between rows
constexpr float kHullPadding = 8;   // in the picture
constexpr uint32_t kWireStep = 8;   // of the wires that are drawn where nodes are dots

ImU32 Blend(ImU32 color, float alpha) {
  return (color & 0x00ffffffu) | (static_cast<ImU32>(alpha * 255) << 24);
}

// `share` of `b` in `a`, opaque.
ImU32 Mix(ImU32 a, ImU32 b, float share) {
  ImU32 out = 0xff000000u;
  for (int shift : {0, 8, 16}) {
    const auto x = static_cast<float>((a >> shift) & 0xffu);
    const auto y = static_cast<float>((b >> shift) & 0xffu);
    out |= static_cast<ImU32>(x + (y - x) * share) << shift;
  }
  return out;
}

// Very long ones, as when one looks from very near, are drawn through.
void DashLine(ImDrawList& list, ImVec2 a, ImVec2 b, ImU32 color, float width, float dash) {
  constexpr float kMaxDashes = 400;
  const float length = std::hypot(b.x - a.x, b.y - a.y);
  if (length < dash || length > kMaxDashes * 2 * dash) {
    list.AddLine(a, b, color, width);
    return;
  }
  const ImVec2 step((b.x - a.x) / length, (b.y - a.y) / length);
  for (float at = 0; at < length; at += 2 * dash) {
    const float end = std::min(at + dash, length);
    list.AddLine({a.x + step.x * at, a.y + step.y * at}, {a.x + step.x * end, a.y + step.y * end},
                 color, width);
  }
}

}  // namespace

GraphPainter::Detail GraphPainter::DetailNow() const {
  const float height = scene_.picture->node_height * zoom_ / frame_.scale;
  if (height >= kTextHeight) return Detail::kFull;
  if (height >= kOutlineHeight) return Detail::kNoText;
  return height >= kFlatHeight ? Detail::kFlat : Detail::kDots;
}

void GraphPainter::Paint(NodeId hovered) {
  const Detail detail = DetailNow();
  std::vector<uint32_t> frames, boxes;
  index_.ForEachBox(
      seen_, [&](uint32_t k) { (scene_.picture->boxes[k].open ? frames : boxes).push_back(k); });
  // Frames precede what is in them; within one frame order does not matter.
  std::ranges::sort(frames);
  PaintBands();
  PaintGhosts();
  for (uint32_t k : frames) PaintFrame(k);
  if (detail == Detail::kFull || detail == Detail::kNoText) PaintHulls(boxes);
  PaintWires(detail);
  for (NodeId id : {scene_.selected, hovered}) {
    if (id.valid()) PaintNeighbours(id);
  }
  // Where many lie in one pixel, a part of them looks the same.
  const size_t step = detail == Detail::kDots ? boxes.size() / 60000 + 1 : 1;
  for (size_t k = 0; k < boxes.size(); k += step) PaintBox(boxes[k], detail);
  const float font = std::round(
      std::clamp(graph::kSubtitleSize * zoom_, kMinFont * frame_.scale, kMaxFont * frame_.scale));
  for (uint32_t k : frames) PaintFrameTitle(k, font);
  // What is shown, and what moves between host and device, is said at every zoom.
  PaintCallouts();
  PaintWireLabels();
  if (detail == Detail::kFull && zoom_ >= kShapeZoom * frame_.scale)
    index_.ForEachWire(seen_, [&](uint32_t w) { PaintShape(scene_.picture->wires[w]); });
  for (size_t k = 0; k < boxes.size(); k += step) PaintTransfer(boxes[k]);
  if (zoom_ >= kChipZoom * frame_.scale) {
    // Between rows of boxes with one line there is none.
    const bool has_room = scene_.picture->node_height >= graph::kNodeHeight;
    for (uint32_t k : boxes) {
      if (has_room || scene_.picture->boxes[k].node == hovered ||
          scene_.picture->boxes[k].node == scene_.selected)
        PaintChips(k);
    }
  }
  if (detail != Detail::kFull) PaintNames(boxes);
}

// Inflated boxes, and the wires between them as broad bands: opaque, so that overlaps do not show.
void GraphPainter::PaintHulls(const std::vector<uint32_t>& boxes) {
  const float grow = std::max(kHullPadding * zoom_, 2.5f * frame_.scale);
  const auto soft = [&](const BoxStyle& style) {
    return Mix(frame_.theme[Color::kCanvas], style.hull,
               style.kernel == scene_.highlighted_kernel ? 0.5f : 0.24f);
  };
  index_.ForEachWire(seen_, [&](uint32_t w) {
    const graph::Wire& wire = scene_.picture->wires[w];
    if (wire.jump || !wire.from.valid() || !wire.to.valid()) return;
    const auto from = scene_.picture->box_of_node.find(wire.from.index);
    const auto to = scene_.picture->box_of_node.find(wire.to.index);
    const auto end = scene_.picture->box_of_node.end();
    if (from == end || to == end) return;
    const BoxStyle& style = styles_[from->second];
    if (style.hull == 0 || style.kernel != styles_[to->second].kernel) return;
    PaintWire(wire, soft(style), 2.2f * grow, true);
  });
  for (uint32_t k : boxes) {
    const BoxStyle& style = styles_[k];
    if (style.hull == 0) continue;
    const Box& box = scene_.picture->boxes[k];
    const ImVec2 a = ToScreen(box.x, box.y), b = ToScreen(box.x + box.width, box.y + box.height);
    list_.AddRectFilled({a.x - grow, a.y - grow}, {b.x + grow, b.y + grow}, soft(style),
                        1.3f * grow);
  }
}

bool GraphPainter::Moves(const graph::Wire& wire) const {
  if (!scene_.transfer) return false;
  return (wire.from.valid() && scene_.transfer(wire.from) != nullptr) ||
         (wire.to.valid() && scene_.transfer(wire.to) != nullptr);
}

void GraphPainter::PaintWires(Detail detail) {
  const ImU32 quiet =
      frame_.theme.With(Color::kTextDisabled, detail == Detail::kDots ? 0.35f : 0.7f);
  const ImU32 back = frame_.theme.With(Color::kMoved, 0.8f);
  const bool curved = detail == Detail::kFull || detail == Detail::kNoText;
  index_.ForEachWire(seen_, [&](uint32_t w) {
    const graph::Wire& wire = scene_.picture->wires[w];
    const bool moves = Moves(wire);
    if (detail == Detail::kDots && w % kWireStep != 0 && !moves) return;
    // Wider for more bytes: from 1 up to 3 at 1 GB.
    float width = 1;
    for (int64_t b = wire.bytes; b > 1024 && width < 3; b /= 32) width += 0.4f;
    ImU32 color = wire.reversed ? back : quiet;
    if (moves) {
      color = frame_.theme[Color::kDeviceFallback];
      width += 1.5f;
    }
    const WireStyle style = scene_.wire_style ? scene_.wire_style(w) : WireStyle();
    if (style.color != 0) {
      color = style.color;
      width += 1.5f;
    }
    PaintWire(wire, color, width * std::clamp(zoom_, 0.5f * frame_.scale, 1.5f * frame_.scale),
              curved, style.is_dashed);
  });
}

// Where the other picture has something.
void GraphPainter::PaintGhosts() {
  const float dash = 4 * frame_.scale;
  for (const Box& box : scene_.ghosts) {
    const bool highlighted =
        scene_.selected == box.node ||
        (scene_.highlighted != nullptr && scene_.highlighted->contains(box.node.index));
    const ImU32 color =
        highlighted ? frame_.theme[Color::kAccent] : frame_.theme.With(Color::kTextDisabled, 0.55f);
    if (!seen_.Meets({box.x, box.y, box.x + box.width, box.y + box.height})) continue;
    const ImVec2 a = ToScreen(box.x, box.y), b = ToScreen(box.x + box.width, box.y + box.height);
    if (b.y - a.y < 3 * dash) {
      list_.AddRect(a, b, color, 0, frame_.scale);
      continue;
    }
    DashLine(list_, a, {b.x, a.y}, color, frame_.scale, dash);
    DashLine(list_, {b.x, a.y}, b, color, frame_.scale, dash);
    DashLine(list_, b, {a.x, b.y}, color, frame_.scale, dash);
    DashLine(list_, {a.x, b.y}, a, color, frame_.scale, dash);
  }
}

void GraphPainter::PaintWire(const graph::Wire& wire, uint32_t color, float width, bool curved,
                             bool dashed) {
  for (uint32_t k = 1; k < wire.point_count; ++k) {
    const graph::Point p = scene_.picture->points[wire.first_point + k - 1];
    const graph::Point q = scene_.picture->points[wire.first_point + k];
    const ImVec2 a = ToScreen(p.x, p.y), b = ToScreen(q.x, q.y);
    if (dashed) {
      DashLine(list_, a, b, color, width, 5 * frame_.scale);
      continue;
    }
    if (!curved || std::abs(a.x - b.x) < 1) {
      list_.AddLine(a, b, color, width);
      continue;
    }
    const float middle = (a.y + b.y) / 2;
    list_.AddBezierCubic(a, {a.x, middle}, {b.x, middle}, b, color, width,
                         zoom_ < 0.5f * frame_.scale ? 8 : 0);
  }
}

// All wires of one node in full, jumps too, which are not drawn otherwise.
void GraphPainter::PaintNeighbours(NodeId id) {
  const ImU32 color = frame_.theme[Color::kAccent];
  for (uint32_t w : index_.WiresAt(id)) {
    const graph::Wire& wire = scene_.picture->wires[w];
    if (!wire.jump) {
      PaintWire(wire, color, 1.8f * frame_.scale, true);
      continue;
    }
    const Box* from = wire.from.valid() ? scene_.picture->Find(wire.from) : nullptr;
    const Box* to = wire.to.valid() ? scene_.picture->Find(wire.to) : nullptr;
    if (from == nullptr || to == nullptr) continue;
    const ImVec2 a = ToScreen(from->x + from->width / 2, from->y + from->height);
    const ImVec2 b = ToScreen(to->x + to->width / 2, to->y);
    const float bend = std::min(80.0f * zoom_, std::abs(b.y - a.y) / 2);
    list_.AddBezierCubic(a, {a.x, a.y + bend}, {b.x, b.y - bend}, b, Blend(color, 0.6f),
                         1.2f * frame_.scale, 32);
  }
}

void GraphPainter::PaintFrame(uint32_t index) {
  const Box& box = scene_.picture->boxes[index];
  const ImVec2 a = ToScreen(box.x, box.y), b = ToScreen(box.x + box.width, box.y + box.height);
  const bool call = !scene_.IsGroup(box.node);
  const BoxStyle& style = styles_[index];
  const bool kernel = call && style.kernel != graph::kNoKernel;
  list_.AddRectFilled(a, b,
                      kernel ? Blend(style.color, 0.12f) : frame_.theme.With(Color::kRaised, 0.35f),
                      4 * zoom_);
  if (style.change) {
    DrawOutline(list_, a, b, *style.change, style.color, zoom_, 1.1f * frame_.scale);
    PaintSign(index, a, b);
  } else {
    list_.AddRect(a, b, call ? OutlineColor(frame_.theme, style) : frame_.theme[Color::kLine],
                  4 * zoom_, (call ? 1.8f : 1.0f) * frame_.scale);
  }
  PaintRing(a, b, index);
}

void GraphPainter::PaintFrameTitle(uint32_t index, float font) {
  const Box& box = scene_.picture->boxes[index];
  const ImVec2 a = ToScreen(box.x, box.y), b = ToScreen(box.x + box.width, box.y + box.height);
  const float character = font * graph::kCharacterWidth;
  // A large frame keeps its title in view.
  const float left = std::max(a.x, list_.GetClipRectMin().x) + 6 * frame_.scale;
  const float room = std::min(b.x, list_.GetClipRectMax().x) - left - 6 * frame_.scale;
  if (room < 6 * character || b.y - a.y < font + 6) return;
  const graph::NodeText& text = texts_(box.node);
  const auto columns = static_cast<size_t>(room / character);
  const std::string whole = text.title + "  " + text.subtitle;
  // The name before the rest: a part of the rest says nothing.
  const std::string line =
      graph::Columns(whole) <= columns ? whole : graph::Elide(text.title, columns);
  const float width = static_cast<float>(graph::Columns(line)) * character;
  const float top = std::max(a.y, std::min(list_.GetClipRectMin().y, b.y - font - 6)) + 3;
  list_.AddRectFilled({left - 3, top - 1}, {left + width + 3, top + font + 3},
                      frame_.theme.With(Color::kCanvas, 0.85f), 2);
  list_.AddText(frame_.mono, std::round(font), {left, top}, frame_.theme[Color::kTextSecondary],
                line.c_str());
}

void GraphPainter::PaintBox(uint32_t index, Detail detail) {
  const Box& box = scene_.picture->boxes[index];
  const ImVec2 a = ToScreen(box.x, box.y), b = ToScreen(box.x + box.width, box.y + box.height);
  const BoxStyle& style = styles_[index];
  if (detail == Detail::kDots || detail == Detail::kFlat) {
    list_.AddRectFilled(a, {std::max(b.x, a.x + 1), std::max(b.y, a.y + 1)}, style.color);
    PaintRing(a, b, index);
    return;
  }
  const bool group = scene_.IsGroup(box.node);
  if (group) {
    // A closed group looks like a pile of sheets.
    const float d = 3 * zoom_;
    for (int sheet = 2; sheet > 0; --sheet) {
      const float shift = d * static_cast<float>(sheet);
      list_.AddRectFilled({a.x + shift, a.y + shift}, {b.x + shift, b.y + shift},
                          frame_.theme[Color::kPanel], 3 * zoom_);
      list_.AddRect({a.x + shift, a.y + shift}, {b.x + shift, b.y + shift},
                    frame_.theme[Color::kLine], 3 * zoom_);
    }
  }
  list_.AddRectFilled(a, b, frame_.theme[group ? Color::kRaised : Color::kPanel], 3 * zoom_);
  const float ground = style.place == analysis::Place::kHost ? 0.4f : 0.16f;
  list_.AddRectFilled(a, b, style.fill != 0 ? style.fill : Blend(style.color, ground), 3 * zoom_);
  DrawOutline(list_, a, b, style.change.value_or(graph::LookOf(style.place).outline),
              style.change ? style.color : OutlineColor(frame_.theme, style), zoom_,
              1.2f * frame_.scale);
  if (style.fill == 0)
    list_.AddRectFilled({a.x + 4 * zoom_, a.y + 6 * zoom_}, {a.x + 8 * zoom_, b.y - 6 * zoom_},
                        style.color);
  PaintRing(a, b, index);
  if (style.verdict) {
    // In the corner, so that it is recognised without its colour too.
    const float radius = std::clamp(5 * zoom_, 2.5F * frame_.scale, 6 * frame_.scale);
    DrawVerdictMark(list_, {b.x - 2 * radius, a.y + 2 * radius}, radius, frame_.theme,
                    *style.verdict);
  }
  if (detail == Detail::kFull) PaintText(index, a, b);
  PaintSign(index, a, b);
}

// What a pass did, for readers who do not see the colours: above the box, at its right end.
void GraphPainter::PaintSign(uint32_t index, ImVec2 a, ImVec2 b) {
  const BoxStyle& style = styles_[index];
  const float font = std::round(std::clamp(13 * zoom_, kMinFont * frame_.scale, 15 * frame_.scale));
  if (style.sign.empty() || b.x - a.x < 2 * font) return;
  const float middle = b.x - font, half = font * 0.62f;
  list_.AddRectFilled({middle - half, a.y - half}, {middle + half, a.y + half}, style.color, 3);
  const float width = font * graph::kCharacterWidth;
  list_.AddText(frame_.mono, font, {middle - width / 2, a.y - font * 0.58f},
                frame_.theme[Color::kCanvas], style.sign.data(),
                style.sign.data() + style.sign.size());
}

void GraphPainter::PaintRing(ImVec2 a, ImVec2 b, uint32_t index) {
  const NodeId id = scene_.picture->boxes[index].node;
  const bool selected = scene_.selected == id;
  const bool highlighted = scene_.highlighted != nullptr && scene_.highlighted->contains(id.index);
  const bool found = scene_.found != nullptr && scene_.found->contains(id.index);
  const bool kernel =
      styles_[index].tint != 0 && styles_[index].kernel == scene_.highlighted_kernel;
  const float gap = 2 * frame_.scale;
  if (found)
    list_.AddRectFilled({a.x - 2 * gap, a.y - 2 * gap}, {b.x + 2 * gap, b.y + 2 * gap},
                        frame_.theme.With(Color::kMatch, 0.55f), 4 * zoom_);
  if (!selected && !highlighted && !kernel) return;
  const uint32_t color =
      selected || highlighted ? frame_.theme[Color::kAccent] : styles_[index].tint;
  list_.AddRect({a.x - gap, a.y - gap}, {b.x + gap, b.y + gap}, color, 4 * zoom_,
                (selected ? 3.0f : 1.8f) * frame_.scale);
}

}  // namespace hloscope::viewer
