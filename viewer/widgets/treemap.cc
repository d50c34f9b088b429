// Rows along the shorter side, each as long as that makes its areas squarer.
#include "viewer/widgets/treemap.h"

#include <algorithm>
#include <numeric>

namespace hloscope::viewer {
namespace {

// The worst ratio of sides in a row of weights along a side of that length.
double WorstRatio(std::span<const double> row, double side, double pixels) {
  const double sum = std::accumulate(row.begin(), row.end(), 0.0) * pixels;
  if (sum <= 0 || side <= 0) return 1e300;
  double worst = 1;
  for (double weight : row) {
    const double area = std::max(weight * pixels, 1e-12);
    worst = std::max({worst, side * side * area / (sum * sum), sum * sum / (side * side * area)});
  }
  return worst;
}

}  // namespace

std::vector<TreemapArea> Squarify(std::span<const double> weights, const TreemapArea& whole) {
  std::vector<TreemapArea> areas;
  TreemapArea rest = whole;
  double left = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (size_t begin = 0; begin < weights.size();) {
    const double pixels = left > 0 ? static_cast<double>(rest.width()) * rest.height() / left : 0;
    const bool is_wide = rest.width() >= rest.height();
    const double side = is_wide ? rest.height() : rest.width();
    size_t end = begin + 1;
    while (end < weights.size() &&
           WorstRatio(weights.subspan(begin, end + 1 - begin), side, pixels) <=
               WorstRatio(weights.subspan(begin, end - begin), side, pixels))
      ++end;
    const std::span<const double> row = weights.subspan(begin, end - begin);
    const double sum = std::accumulate(row.begin(), row.end(), 0.0);
    const auto depth = static_cast<float>(side > 0 ? sum * pixels / side : 0);
    double before = 0;
    for (double weight : row) {
      const auto from = static_cast<float>(sum > 0 ? side * before / sum : 0);
      before += weight;
      const auto to = static_cast<float>(sum > 0 ? side * before / sum : 0);
      areas.push_back(
          is_wide ? TreemapArea{rest.left, rest.top + from, rest.left + depth, rest.top + to}
                  : TreemapArea{rest.left + from, rest.top, rest.left + to, rest.top + depth});
    }
    (is_wide ? rest.left : rest.top) += depth;
    left -= sum;
    begin = end;
  }
  return areas;
}

}  // namespace hloscope::viewer
