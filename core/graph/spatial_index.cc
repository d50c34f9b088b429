// Chunks of neighbours with the area around them.
#include "core/graph/spatial_index.h"

#include <cmath>
#include <numeric>

namespace hloscope::graph {
namespace {

constexpr uint32_t kChunk = 48;
constexpr float kBand = 600;  // chunks are sorted by bands of height, then from left to right

void Grow(Area& area, const Area& by) {
  area.left = std::min(area.left, by.left);
  area.top = std::min(area.top, by.top);
  area.right = std::max(area.right, by.right);
  area.bottom = std::max(area.bottom, by.bottom);
}

}  // namespace

SpatialIndex::SpatialIndex(const Picture& picture) {
  for (const Box& box : picture.boxes) box_areas_.push_back(AreaOf(box));
  for (uint32_t w = 0; w < picture.wires.size(); ++w) {
    const Wire& wire = picture.wires[w];
    if (wire.from.valid()) ends_.emplace_back(wire.from.index, w);
    if (wire.to.valid()) ends_.emplace_back(wire.to.index, w);
    // Jumps are not lines: an area that nothing meets.
    Area area{1, 1, -1, -1};
    for (uint32_t k = 0; k < wire.point_count; ++k) {
      const Point p = picture.points[wire.first_point + k];
      if (k == 0) area = {p.x, p.y, p.x, p.y};
      Grow(area, {p.x, p.y, p.x, p.y});
    }
    if (wire.point_count == 0) area = {3e38f, 3e38f, -3e38f, -3e38f};
    wire_areas_.push_back(area);
  }
  std::ranges::sort(ends_);
  Build(box_areas_, boxes_, box_chunks_);
  Build(wire_areas_, wires_, wire_chunks_);
}

void SpatialIndex::Build(const std::vector<Area>& areas, std::vector<uint32_t>& order,
                         std::vector<Chunk>& chunks) {
  order.resize(areas.size());
  std::iota(order.begin(), order.end(), 0u);
  auto band = [&](uint32_t k) { return std::floor(areas[k].top / kBand); };
  std::ranges::sort(order, [&](uint32_t a, uint32_t b) {
    const float band_a = band(a), band_b = band(b);
    if (band_a != band_b) return band_a < band_b;
    return areas[a].left != areas[b].left ? areas[a].left < areas[b].left : a < b;
  });
  for (uint32_t begin = 0; begin < order.size(); begin += kChunk) {
    Chunk chunk{areas[order[begin]], begin,
                std::min(begin + kChunk, static_cast<uint32_t>(order.size()))};
    for (uint32_t k = begin; k < chunk.end; ++k) Grow(chunk.area, areas[order[k]]);
    chunks.push_back(chunk);
  }
}

std::vector<uint32_t> SpatialIndex::WiresAt(NodeId node) const {
  std::vector<uint32_t> wires;
  auto at = std::ranges::lower_bound(ends_, std::pair(node.index, 0u));
  for (; at != ends_.end() && at->first == node.index; ++at) wires.push_back(at->second);
  return wires;
}

}  // namespace hloscope::graph
