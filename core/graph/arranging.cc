// Arrange: rows, bends of long edges, and the order in rows.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/graph/layered.h"

namespace hloscope::graph {
namespace {

// The graph with every edge pointing down, and the bends of routed edges.
class Arranger {
 public:
  Arranger(std::span<const FlatNode> nodes, std::span<const FlatEdge> edges,
           const LayoutOptions& options)
      : nodes_(nodes), edges_(edges), options_(options) {}

  Arrangement Run(std::span<const float> wanted) {
    out_.node_count = static_cast<uint32_t>(nodes_.size());
    out_.reversed = BackEdges(nodes_.size(), edges_);
    out_.jump.assign(edges_.size(), false);
    out_.row = Rank(nodes_, Down());
    SplitWideRows();
    Bend();
    Rows rows = MakeRows(wanted);
    out_.crossings = Order(rows, options_);
    out_.row_first.push_back(0);
    for (const std::vector<uint32_t>& items : rows.items) {
      out_.row_items.insert(out_.row_items.end(), items.begin(), items.end());
      out_.row_first.push_back(static_cast<uint32_t>(out_.row_items.size()));
    }
    return std::move(out_);
  }

 private:
  DownEdge DownOf(size_t e) const {
    const FlatEdge& edge = edges_[e];
    if (out_.reversed[e]) return {edge.to, edge.from, edge.weight};
    return {edge.from, edge.to, edge.weight};
  }

  std::vector<DownEdge> Down() const {
    std::vector<DownEdge> down;
    down.reserve(edges_.size());
    for (size_t e = 0; e < edges_.size(); ++e) {
      if (edges_[e].from != edges_[e].to) down.push_back(DownOf(e));
    }
    return down;
  }

  // Nodes of one row are not joined: a row that is too wide for the picture's proportions becomes
  // several, so that a fitted picture can still be read.
  void SplitWideRows() {
    std::vector<float> width, height;
    for (uint32_t v = 0; v < out_.node_count; ++v) {
      if (nodes_[v].pin != RowPin::kFree) continue;
      if (out_.row[v] >= width.size()) {
        width.resize(out_.row[v] + 1, 0);
        height.resize(out_.row[v] + 1, 0);
      }
      width[out_.row[v]] += nodes_[v].width + options_.node_gap;
      height[out_.row[v]] = std::max(height[out_.row[v]], nodes_[v].height + options_.row_gap);
    }
    const float most = options_.row_width > 0 ? options_.row_width : MostWidth(width, height);
    if (std::ranges::none_of(width, [&](float w) { return w > most; })) return;
    // Where each row begins among the new ones, and how many it becomes.
    std::vector<uint32_t> first(width.size() + 1, 0);
    for (size_t r = 0; r < width.size(); ++r) first[r + 1] = first[r] + PartsOf(width[r], most);
    std::vector<float> used(width.size(), 0);
    for (uint32_t v = 0; v < out_.node_count; ++v) {
      uint32_t& row = out_.row[v];
      // Pinned rows lie around all others.
      if (row >= width.size()) {
        row += first.back() - static_cast<uint32_t>(width.size());
        continue;
      }
      const uint32_t parts = first[row + 1] - first[row];
      const float share = width[row] > 0 ? used[row] / width[row] : 0;
      if (nodes_[v].pin == RowPin::kFree) used[row] += nodes_[v].width + options_.node_gap;
      const auto part = static_cast<uint32_t>(share * static_cast<float>(parts));
      row = first[row] + (nodes_[v].pin == RowPin::kFree ? std::min(part, parts - 1) : 0);
    }
  }

  static uint32_t PartsOf(float width, float most) {
    return std::max(1u, static_cast<uint32_t>(std::ceil(width / most)));
  }

  // The width of rows at which the fitted picture is largest: narrower ones make it higher.
  float MostWidth(const std::vector<float>& width, const std::vector<float>& height) const {
    constexpr float kStep = 0.85f;
    float best = width.empty() ? 0 : std::ranges::max(width);
    float least = std::numeric_limits<float>::infinity();
    for (float most = best; most >= options_.least_split; most *= kStep) {
      float high = 0;
      for (size_t r = 0; r < width.size(); ++r)
        high += height[r] * static_cast<float>(PartsOf(width[r], most));
      const float size = std::max(most / options_.proportion, high);
      if (size >= least) continue;
      least = size;
      best = most;
    }
    return std::max(best, options_.least_split);
  }

  // The rows an edge leads down; 0 where it has no way, for two nodes pinned to one border.
  uint32_t Span(size_t e) const {
    DownEdge down = DownOf(e);
    const uint32_t first = out_.row[down.from], last = out_.row[down.to];
    return last > first ? last - first : 0;
  }

  // The span up to which edges are routed.
  uint32_t SpanLimit() const {
    int64_t bends = 0;
    for (size_t e = 0; e < edges_.size(); ++e) bends += edges_[e].minor ? 0 : Span(e);
    const bool all = bends <= options_.free_bends * static_cast<int64_t>(nodes_.size());
    return all ? out_.node_count : static_cast<uint32_t>(options_.max_span);
  }

  // Bends for edges over several rows, and the segments between neighbouring rows.
  void Bend() {
    out_.edge_first_item.assign(edges_.size(), 0);
    out_.edge_bends.assign(edges_.size(), 0);
    const uint32_t limit = SpanLimit();
    for (size_t e = 0; e < edges_.size(); ++e) {
      DownEdge down = DownOf(e);
      if (down.from == down.to) continue;
      const uint32_t span = Span(e);
      if (span == 0 || span > (edges_[e].minor ? 1 : limit)) {
        out_.jump[e] = true;
        continue;
      }
      out_.edge_first_item[e] = static_cast<uint32_t>(out_.row.size());
      out_.edge_bends[e] = span - 1;
      uint32_t from = down.from;
      for (uint32_t r = out_.row[down.from] + 1; r < out_.row[down.to]; ++r) {
        const auto bend = static_cast<uint32_t>(out_.row.size());
        out_.row.push_back(r);
        segments_.push_back({from, bend});
        from = bend;
      }
      segments_.push_back({from, down.to});
    }
  }

  Rows MakeRows(std::span<const float> wanted) const {
    Rows rows;
    rows.node_count = out_.node_count;
    rows.row = out_.row;
    const size_t n = rows.row.size();
    rows.position.resize(n);
    rows.above = Lists(
        n, segments_.size(), [&](size_t s) { return segments_[s].to; },
        [&](size_t s) { return segments_[s].from; });
    rows.below = Lists(
        n, segments_.size(), [&](size_t s) { return segments_[s].from; },
        [&](size_t s) { return segments_[s].to; });
    uint32_t count = 0;
    for (uint32_t r : rows.row) count = std::max(count, r + 1);
    rows.items.resize(count);
    for (uint32_t item : FirstOrder(rows)) rows.items[rows.row[item]].push_back(item);
    if (!wanted.empty()) SortByWanted(rows, wanted);
    return rows;
  }

  // Depth first from the sources in the order of the nodes, so that what is connected lies
  // together.
  std::vector<uint32_t> FirstOrder(const Rows& rows) const {
    const size_t n = rows.row.size();
    std::vector<uint32_t> order, stack;
    std::vector<bool> seen(n, false);
    order.reserve(n);
    for (uint32_t start = 0; start < out_.node_count; ++start) {
      if (seen[start]) continue;
      seen[start] = true;
      stack.push_back(start);
      while (!stack.empty()) {
        uint32_t item = stack.back();
        stack.pop_back();
        order.push_back(item);
        for (const Lists* lists : {&rows.below, &rows.above}) {
          for (uint32_t next : (*lists)[item]) {
            if (seen[next]) continue;
            seen[next] = true;
            stack.push_back(next);
          }
        }
      }
    }
    return order;
  }

  static void SortByWanted(Rows& rows, std::span<const float> wanted) {
    auto known = [&](uint32_t item) {
      return item < rows.node_count && item < wanted.size() && !std::isnan(wanted[item]);
    };
    std::vector<uint32_t> slots, old;
    for (std::vector<uint32_t>& items : rows.items) {
      slots.clear();
      old.clear();
      for (uint32_t k = 0; k < items.size(); ++k) {
        if (!known(items[k])) continue;
        slots.push_back(k);
        old.push_back(items[k]);
      }
      std::ranges::stable_sort(old, {}, [&](uint32_t item) { return wanted[item]; });
      for (size_t k = 0; k < slots.size(); ++k) items[slots[k]] = old[k];
    }
  }

  std::span<const FlatNode> nodes_;
  std::span<const FlatEdge> edges_;
  const LayoutOptions& options_;
  Arrangement out_;
  std::vector<Segment> segments_;
};

}  // namespace

Arrangement Arrange(std::span<const FlatNode> nodes, std::span<const FlatEdge> edges,
                    const LayoutOptions& options, std::span<const float> wanted) {
  return Arranger(nodes, edges, options).Run(wanted);
}

}  // namespace hloscope::graph
