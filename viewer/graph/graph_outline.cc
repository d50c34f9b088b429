// Where it runs, drawn.
#include "viewer/graph/graph_outline.h"

#include <algorithm>

#include "viewer/graph/graph_canvas.h"

namespace hloscope::viewer {
namespace {

using graph::Outline;

ImU32 Paler(ImU32 color, float alpha) {
  return (color & 0x00ffffffu) | (static_cast<ImU32>(alpha * 255) << 24);
}

}  // namespace

uint32_t PlaceColor(const Theme& theme, analysis::Place place) {
  switch (graph::LookOf(place).outline) {
    case Outline::kRectangle:
    case Outline::kDoubleSides:
    case Outline::kRounded:
      return theme[place == analysis::Place::kControl ? Color::kTextSecondary : Color::kDeviceGpu];
    case Outline::kHexagon:
      return theme[Color::kCollective];
    case Outline::kCutCorners:
      return theme[Color::kDeviceFallback];
    case Outline::kCylinder:
      return theme[Color::kDeviceHost];
    default:
      return theme[Color::kDeviceNone];
  }
}

void DrawOutline(ImDrawList& list, ImVec2 a, ImVec2 b, Outline outline, uint32_t color, float zoom,
                 float line) {
  const float c = std::min({8 * zoom, (b.x - a.x) / 4, (b.y - a.y) / 3});
  const float middle = (a.y + b.y) / 2;
  switch (outline) {
    case Outline::kHexagon: {
      const ImVec2 p[] = {{a.x + c, a.y}, {b.x - c, a.y}, {b.x, middle},
                          {b.x - c, b.y}, {a.x + c, b.y}, {a.x, middle}};
      list.AddPolyline(p, 6, color, 2 * line, ImDrawFlags_Closed);
      break;
    }
    case Outline::kCutCorners: {
      const ImVec2 p[] = {{a.x + c, a.y}, {b.x - c, a.y}, {b.x, a.y + c}, {b.x, b.y - c},
                          {b.x - c, b.y}, {a.x + c, b.y}, {a.x, b.y - c}, {a.x, a.y + c}};
      list.AddPolyline(p, 8, color, 2.2f * line, ImDrawFlags_Closed);
      break;
    }
    case Outline::kCylinder:
      list.AddRect(a, b, color, c, 1.8f * line);
      list.AddLine({a.x, a.y + c / 2 + 1}, {b.x, a.y + c / 2 + 1}, color, line);
      break;
    case Outline::kDoubleSides:
      list.AddRect(a, b, color, 3 * zoom, 1.6f * line);
      list.AddLine({b.x - 4 * zoom, a.y}, {b.x - 4 * zoom, b.y}, color, line);
      list.AddLine({a.x + 2 * zoom, a.y}, {a.x + 2 * zoom, b.y}, color, line);
      break;
    case Outline::kRounded:
      list.AddRect(a, b, color, (b.y - a.y) / 2.6f, line);
      break;
    case Outline::kRectangle:
      list.AddRect(a, b, color, 3 * zoom, 1.6f * line);
      break;
    default:
      list.AddRect(a, b, Paler(color, 0.7f), 3 * zoom, line);
  }
}

uint32_t OutlineColor(const Theme& theme, const BoxStyle& style) {
  const analysis::Place place = style.place;
  const bool own = place == analysis::Place::kHost || place == analysis::Place::kHostMemory ||
                   place == analysis::Place::kCollective;
  return style.kernel == graph::kNoKernel || own || style.tint == 0 ? PlaceColor(theme, place)
                                                                    : style.tint;
}

}  // namespace hloscope::viewer
