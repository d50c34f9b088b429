// Treemap: a rectangle divided by weights, as square as can be.
#pragma once

#include <span>
#include <vector>

namespace hloscope::viewer {

struct TreemapArea {
  float left = 0, top = 0, right = 0, bottom = 0;
  float width() const { return right - left; }
  float height() const { return bottom - top; }
};

// One area for each weight, in their order, which is the largest first. Areas are in proportion to
// the weights and fill `whole` (Bruls, Huizing, van Wijk 2000: squarified treemaps).
std::vector<TreemapArea> Squarify(std::span<const double> weights, const TreemapArea& whole);

}  // namespace hloscope::viewer
