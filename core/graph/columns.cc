// ArrangeForPane: a picture that is too high for its pane stands in columns, as text does.
#include <algorithm>
#include <cmath>

#include "core/graph/layered.h"

namespace hloscope::graph {
namespace {

// Pictures up to this height can be read as they are; columns must make them so many times larger.
constexpr float kMinHeight = 800, kMinGain = 1.2f;
// How far from its equal share of the height a column may end, to cut fewer edges.
constexpr float kLeeway = 0.2f, kEdgesForLeeway = 8, kManyEdges = 1e6f;
constexpr float kGutter = 60;
// Shares of the width that are tried where a picture is too wide, for graphs of so many nodes.
constexpr float kNarrower[] = {0.6f, 0.35f}, kMinGainOfNarrow = 1.08f;
constexpr size_t kMaxTried = 2000;
constexpr float kFar = 1e30f;

// The rows of a picture in one column.
struct RowExtents {
  std::vector<float> top, bottom, left, right;
  std::vector<uint32_t> edges_below;  // edges from this row or above to one below
};

RowExtents ExtentsOf(const Arrangement& a, const FlatLayout& layout,
                     std::span<const FlatNode> nodes, std::span<const FlatEdge> edges) {
  const uint32_t rows = a.row_count();
  RowExtents out{std::vector(rows, kFar), std::vector(rows, -kFar), std::vector(rows, kFar),
                 std::vector(rows, -kFar), std::vector<uint32_t>(rows, 0)};
  for (uint32_t v = 0; v < a.node_count; ++v) {
    const Point p = layout.center[v];
    const uint32_t r = a.row[v];
    out.top[r] = std::min(out.top[r], p.y - nodes[v].height / 2);
    out.bottom[r] = std::max(out.bottom[r], p.y + nodes[v].height / 2);
    out.left[r] = std::min(out.left[r], p.x - nodes[v].width / 2);
    out.right[r] = std::max(out.right[r], p.x + nodes[v].width / 2);
  }
  // Where edges begin and end; summed up below.
  std::vector<int64_t> change(rows + 1, 0);
  for (size_t e = 0; e < edges.size(); ++e) {
    if (a.jump[e]) continue;
    const auto [first, last] = std::minmax(a.row[edges[e].from], a.row[edges[e].to]);
    ++change[first];
    --change[last];
  }
  int64_t open = 0;
  for (uint32_t r = 0; r < rows; ++r) {
    open += change[r];
    out.edges_below[r] = static_cast<uint32_t>(open);
  }
  return out;
}

// The first row of each of `count` columns: about equal heights, cut where few edges are.
std::vector<uint32_t> Cut(const RowExtents& rows, uint32_t count, float height) {
  std::vector<uint32_t> first(1, 0);
  const float each = height / static_cast<float>(count);
  for (uint32_t c = 1; c < count; ++c) {
    const float wanted = each * static_cast<float>(c);
    uint32_t best = 0;
    float least = 0;
    for (uint32_t r = first.back() + 1; r < rows.top.size(); ++r) {
      const float away = std::abs(rows.top[r] - wanted) / each;
      const float edges = away > kLeeway ? kManyEdges : static_cast<float>(rows.edges_below[r - 1]);
      const float cost = edges + kEdgesForLeeway * away;
      if (best > 0 && cost >= least) continue;
      best = r;
      least = cost;
    }
    if (best == 0) break;
    first.push_back(best);
  }
  return first;
}

// How large a square of the pane's proportion must be to hold all: the smaller, the larger boxes
// are in a fitted picture.
float SizeOf(const RowExtents& rows, const std::vector<uint32_t>& first, float proportion) {
  float width = 0, height = 0;
  for (size_t c = 0; c < first.size(); ++c) {
    const uint32_t end =
        c + 1 < first.size() ? first[c + 1] : static_cast<uint32_t>(rows.top.size());
    float left = kFar, right = -kFar, top = kFar, bottom = -kFar;
    for (uint32_t r = first[c]; r < end; ++r) {
      left = std::min(left, rows.left[r]);
      right = std::max(right, rows.right[r]);
      top = std::min(top, rows.top[r]);
      bottom = std::max(bottom, rows.bottom[r]);
    }
    width += std::max(right - left, 0.0f) + (c > 0 ? kGutter : 0);
    height = std::max(height, bottom - top);
  }
  return std::max(width / proportion, height);
}

// Chooses columns for an arrangement whose rows stand as in `layout`; returns the size they need.
float ChooseColumns(Arrangement& arrangement, const FlatLayout& layout,
                    std::span<const FlatNode> nodes, std::span<const FlatEdge> edges,
                    const LayoutOptions& options) {
  const float alone = std::max(layout.width / options.proportion, layout.height);
  if (arrangement.row_count() < 2 || layout.height <= kMinHeight) return alone;
  const RowExtents rows = ExtentsOf(arrangement, layout, nodes, edges);
  float least = alone / kMinGain;
  for (uint32_t count = 2; count <= options.most_columns; ++count) {
    std::vector<uint32_t> first = Cut(rows, count, layout.height);
    if (first.size() < count) break;
    const float size = SizeOf(rows, first, options.proportion);
    if (size >= least) continue;
    least = size;
    arrangement.column_first = std::move(first);
  }
  return arrangement.column_first.empty() ? alone : least;
}

}  // namespace

Arrangement ArrangeForPane(std::span<const FlatNode> nodes, std::span<const FlatEdge> edges,
                           const LayoutOptions& options, std::span<const float> wanted) {
  Arrangement best = Arrange(nodes, edges, options, wanted);
  if (options.most_columns < 2) return best;
  FlatLayout layout = Place(best, nodes, edges, {}, options);
  float least = ChooseColumns(best, layout, nodes, edges, options);
  // Edges take room beside the nodes: rows that were narrow enough without them may not be so.
  LayoutOptions narrow = options;
  for (float share : kNarrower) {
    if (nodes.size() > kMaxTried || layout.width / options.proportion <= layout.height) break;
    narrow.proportion = options.proportion * share;
    narrow.least_split = options.least_split * share;
    Arrangement other = Arrange(nodes, edges, narrow, wanted);
    layout = Place(other, nodes, edges, {}, options);
    const float size = ChooseColumns(other, layout, nodes, edges, options);
    if (size * kMinGainOfNarrow >= least) continue;
    least = size;
    best = std::move(other);
  }
  return best;
}

}  // namespace hloscope::graph
