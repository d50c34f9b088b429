// Bands of one colour that narrow where much becomes one.
#include "viewer/graph/graph_ribbon.h"

#include <algorithm>

namespace hloscope::viewer {
namespace {

constexpr int kSteps = 24;
constexpr size_t kMaxBands = 40;

ImU32 Fade(ImU32 color, float alpha) {
  return (color & 0x00ffffffu) | (static_cast<ImU32>(alpha * 255) << 24);
}

graph::Area Around(const RibbonStep& step) {
  graph::Area all = step.front();
  for (const graph::Area& area : step) {
    all.left = std::min(all.left, area.left);
    all.top = std::min(all.top, area.top);
    all.right = std::max(all.right, area.right);
    all.bottom = std::max(all.bottom, area.bottom);
  }
  return all;
}

// From the right side of `a` to the left side of `b`.
void DrawBand(ImDrawList& list, const graph::Area& a, const graph::Area& b, ImU32 color,
              float alpha, float scale) {
  const float left = a.right, right = std::max(b.left, left + 1);
  ImVec2 upper[kSteps + 1], lower[kSteps + 1];
  for (int k = 0; k <= kSteps; ++k) {
    const float t = static_cast<float>(k) / kSteps, s = t * t * (3 - 2 * t);
    const float x = left + (right - left) * t;
    upper[k] = {x, a.top + (b.top - a.top) * s};
    lower[k] = {x, std::max(a.bottom + (b.bottom - a.bottom) * s, upper[k].y + scale)};
  }
  for (int k = 0; k < kSteps; ++k)
    list.AddQuadFilled(upper[k], upper[k + 1], lower[k + 1], lower[k], Fade(color, alpha));
  list.AddPolyline(upper, kSteps + 1, Fade(color, 0.9f), 1.2f * scale);
  list.AddPolyline(lower, kSteps + 1, Fade(color, 0.9f), 1.2f * scale);
}

}  // namespace

void DrawRibbon(ImDrawList& list, std::span<const RibbonStep> steps, uint32_t color, float scale) {
  const RibbonStep* before = nullptr;
  for (const RibbonStep& step : steps) {
    if (step.empty()) continue;
    if (before != nullptr) {
      const graph::Area to = Around(step);
      const size_t bands = std::min(before->size(), kMaxBands);
      for (size_t k = 0; k < bands; ++k)
        DrawBand(list, (*before)[k], to, color, bands > 6 ? 0.1f : 0.2f, scale);
    }
    before = &step;
  }
}

}  // namespace hloscope::viewer
