// Shapes and colours that pictures in SVG are made of.
#pragma once

#include <algorithm>
#include <string>

#include "core/graph/looks.h"
#include "core/graph/svg.h"

namespace hloscope::graph {

struct SvgArea {
  float x = 0, y = 0, width = 0, height = 0;
};

inline constexpr float kSvgMargin = 24, kSvgLeastWidth = 640;
// How far below the upper border a picture that is dressed begins, beyond the margin.
inline float SvgHeadingHeight(const SvgOptions& options) {
  return options.lanes.empty() ? 34.0f : 84.0f;
}
inline float SvgWidth(const Picture& picture) {
  return std::max(picture.width + 2 * kSvgMargin, kSvgLeastWidth);
}

// The outline of a box, appended to `out`. Colours are 0xRRGGBB.
void AppendOutline(const SvgArea& area, Outline outline, uint32_t fill, uint32_t stroke,
                   std::string& out);

// The style sheet of a picture in those colours.
std::string SvgStyle(const SvgColors& colors);

std::string HexColor(uint32_t rgb);  // "#1a1f26"
// `share` of `b` in `a`.
uint32_t MixColors(uint32_t a, uint32_t b, float share);

}  // namespace hloscope::graph
