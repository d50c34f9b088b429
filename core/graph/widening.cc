// Row by row: what stands left and right of a node.
#include "core/graph/widening.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace hloscope::graph {
namespace {

class Widener {
 public:
  Widener(const FlatLayout& layout, std::span<const FlatNode> nodes, std::span<const float> wanted,
          float gap)
      : layout_(layout), wanted_(wanted), gap_(gap) {
    for (size_t k = 0; k < nodes.size(); ++k) {
      const float x = layout.center[k].x, half = nodes[k].width / 2;
      before_.push_back({.left = x - half, .right = x + half});
    }
  }

  std::vector<Extent> Run() {
    FindRows();
    FindPassing();
    for (std::vector<float>& row : passing_) std::ranges::sort(row);
    // What a neighbour leaves of its half is there the next time.
    constexpr int kTimes = 3;
    for (int time = 0; time < kTimes; ++time) {
      std::vector<Extent> after = before_;
      for (size_t r = 0; r < rows_.size(); ++r) {
        for (size_t k = 0; k < rows_[r].size(); ++k) {
          const uint32_t node = rows_[r][k];
          if (node < wanted_.size()) after[node] = Grown(node, RoomOf(r, k));
        }
      }
      before_ = std::move(after);
    }
    return std::move(before_);
  }

 private:
  // Nodes of one height, from left to right.
  void FindRows() {
    std::vector<uint32_t> order(before_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(
        order, {}, [&](uint32_t k) { return std::pair(layout_.center[k].y, layout_.center[k].x); });
    for (const uint32_t node : order) {
      const float y = layout_.center[node].y;
      if (heights_.empty() || heights_.back() != y) {
        heights_.push_back(y);
        rows_.emplace_back();
      }
      rows_.back().push_back(node);
    }
    passing_.resize(rows_.size());
  }
  // Edges run straight down beside the nodes of a row.
  void FindPassing() {
    for (size_t e = 0; e < layout_.first_point.size(); ++e) {
      const auto points =
          std::span(layout_.points).subspan(layout_.first_point[e], layout_.point_count[e]);
      for (size_t k = 1; k < points.size(); ++k) {
        const Point &a = points[k - 1], &b = points[k];
        if (a.x != b.x) continue;
        const auto [top, bottom] = std::minmax(a.y, b.y);
        for (auto row = std::ranges::upper_bound(heights_, top);
             row != heights_.end() && *row < bottom; ++row)
          passing_[static_cast<size_t>(row - heights_.begin())].push_back(a.x);
      }
    }
  }

  // Between two nodes the room is divided.
  Extent RoomOf(size_t row, size_t at) const {
    const std::vector<uint32_t>& nodes = rows_[row];
    const Extent& own = before_[nodes[at]];
    Extent room{.left = 0, .right = layout_.width};
    if (at > 0) room.left = (before_[nodes[at - 1]].right + own.left + gap_) / 2;
    if (at + 1 < nodes.size()) room.right = (own.right + before_[nodes[at + 1]].left - gap_) / 2;
    const float middle = (own.left + own.right) / 2;
    const auto right = std::ranges::upper_bound(passing_[row], middle);
    if (right != passing_[row].end()) room.right = std::min(room.right, *right - gap_);
    if (right != passing_[row].begin()) room.left = std::max(room.left, *(right - 1) + gap_);
    return room;
  }
  Extent Grown(uint32_t node, const Extent& room) const {
    Extent own = before_[node];
    const float lacks = wanted_[node] - (own.right - own.left);
    if (lacks <= 0) return own;
    const float free_left = std::max(own.left - room.left, 0.0f);
    const float free_right = std::max(room.right - own.right, 0.0f);
    const float right = std::min(std::max(lacks / 2, lacks - free_left), free_right);
    own.left -= std::min(lacks - right, free_left);
    own.right += right;
    return own;
  }

  const FlatLayout& layout_;
  std::span<const float> wanted_;
  float gap_;
  std::vector<Extent> before_;
  std::vector<float> heights_;               // by row
  std::vector<std::vector<uint32_t>> rows_;  // by row
  std::vector<std::vector<float>> passing_;  // by row: edges
};

}  // namespace

std::vector<Extent> Widened(const FlatLayout& layout, std::span<const FlatNode> nodes,
                            std::span<const float> wanted, float gap) {
  return Widener(layout, nodes, wanted, gap).Run();
}

}  // namespace hloscope::graph
