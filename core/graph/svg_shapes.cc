#include "core/graph/svg_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace hloscope::graph {
namespace {

void AppendRectangle(const SvgArea& a, Outline outline, const std::string& paint,
                     std::string& out) {
  const float radius = outline == Outline::kRounded ? a.height / 2.6f : 3;
  const float line = outline == Outline::kRectangle || outline == Outline::kDoubleSides ? 2 : 1;
  fmt::format_to(std::back_inserter(out),
                 "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
                 "rx=\"{:.0f}\" {} stroke-width=\"{:.0f}\"{}/>",
                 a.x, a.y, a.width, a.height, radius, paint, line,
                 outline == Outline::kDashed ? " stroke-dasharray=\"4 3\"" : "");
}

}  // namespace

std::string HexColor(uint32_t rgb) { return fmt::format("#{:06x}", rgb); }

uint32_t MixColors(uint32_t a, uint32_t b, float share) {
  uint32_t out = 0;
  for (int shift : {0, 8, 16}) {
    const auto x = static_cast<float>((a >> shift) & 0xffu);
    const auto y = static_cast<float>((b >> shift) & 0xffu);
    out |= static_cast<uint32_t>(x + (y - x) * share) << shift;
  }
  return out;
}

void AppendOutline(const SvgArea& a, Outline outline, uint32_t fill, uint32_t stroke,
                   std::string& out) {
  const std::string paint = fmt::format("fill=\"#{:06x}\" stroke=\"#{:06x}\"", fill, stroke);
  const float r = a.x + a.width, b = a.y + a.height, c = std::min(7.0f, a.height / 4);
  const auto add = std::back_inserter(out);
  switch (outline) {
    case Outline::kHexagon:
      fmt::format_to(add,
                     "<path d=\"M{:.1f} {:.1f}H{:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}H{:.1f}L{:.1f} "
                     "{:.1f}z\" {} stroke-width=\"2\"/>",
                     a.x + c, a.y, r - c, r, (a.y + b) / 2, r - c, b, a.x + c, a.x, (a.y + b) / 2,
                     paint);
      break;
    case Outline::kCutCorners:
      fmt::format_to(add,
                     "<path d=\"M{0:.1f} {1:.1f}H{2:.1f}L{3:.1f} {4:.1f}V{5:.1f}L{2:.1f} "
                     "{6:.1f}H{0:.1f}L{7:.1f} {5:.1f}V{4:.1f}z\" {8} stroke-width=\"2.5\"/>",
                     a.x + c, a.y, r - c, r, a.y + c, b - c, b, a.x, paint);
      break;
    case Outline::kCylinder:
      fmt::format_to(add,
                     "<path d=\"M{0:.1f} {1:.1f}A{2:.1f} {3:.1f} 0 0 1 {4:.1f} "
                     "{1:.1f}V{5:.1f}A{2:.1f} {3:.1f} 0 0 1 {0:.1f} {5:.1f}z\" {6} "
                     "stroke-width=\"2\"/><path class=\"w\" style=\"stroke:#{7:06x}\" "
                     "d=\"M{0:.1f} {1:.1f}A{2:.1f} {3:.1f} 0 0 0 {4:.1f} {1:.1f}\"/>",
                     a.x, a.y + c / 2, a.width / 2, c / 2, r, b - c / 2, paint, stroke);
      break;
    default:
      AppendRectangle(a, outline, paint, out);
  }
  if (outline == Outline::kDoubleSides) {
    fmt::format_to(add, "<path d=\"M{:.1f} {:.1f}V{:.1f}M{:.1f} {:.1f}V{:.1f}\" {}/>", a.x + 3.5f,
                   a.y, b, r - 3.5f, a.y, b, paint);
  }
}

std::string SvgStyle(const SvgColors& c) {
  return fmt::format(
      "text{{font-family:'JetBrains Mono','DejaVu Sans Mono',Menlo,Consolas,monospace;"
      "fill:#{0:06x}}}.t{{font-size:14px}}.s{{font-size:12px;fill:#{1:06x}}}"
      ".h{{font-size:15px;font-weight:bold}}.k{{font-size:12px;font-weight:bold;fill:#{2:06x};"
      "paint-order:stroke;stroke:#{3:06x};stroke-width:3px}}"
      ".o{{paint-order:stroke;stroke:#{3:06x};stroke-width:4px}}.j{{font-size:10px;fill:#{2:06x};"
      "paint-order:stroke;stroke:#{3:06x};stroke-width:3px}}.w{{fill:none;stroke:#{4:06x}}}"
      ".m{{fill:none;stroke:#{5:06x}}}.b{{fill:none;stroke:#{4:06x};stroke-dasharray:5 3}}"
      ".f{{fill:#{4:06x};fill-opacity:.05;stroke:#{6:06x}}}.d{{fill:none;stroke-dasharray:4 3}}"
      "g:target>*:first-child+*{{stroke-width:4}}",
      c.text, c.secondary, c.link, c.ground, c.wire, c.host, c.line);
}

}  // namespace hloscope::graph
