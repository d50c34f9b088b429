// Place: every row is fitted to where its neighbours want it, exactly, under minimum distances.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/graph/layered.h"

namespace hloscope::graph {
namespace {

constexpr float kBendWidth = 2;
// Kinks in long edges are worse than slanted short ones.
constexpr double kPullNode = 1, kPullMixed = 2, kPullBend = 8;

// A neighbour of an item: where this one would have to stand for a vertical segment, is that item's
// place plus `offset`.
struct Pull {
  uint32_t item = 0;
  float offset = 0;
  double weight = 1;
};

class Placer {
 public:
  Placer(const Arrangement& a, std::span<const FlatNode> nodes, std::span<const FlatEdge> edges,
         std::span<const EdgeEnds> ends, const LayoutOptions& options)
      : a_(a), nodes_(nodes), edges_(edges), ends_(ends), options_(options) {}

  FlatLayout Run() {
    CollectPulls();
    Pack();
    const bool large = a_.row.size() > static_cast<size_t>(options_.large);
    const int sweeps = large ? options_.placing_sweeps / 3 : options_.placing_sweeps;
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      const bool last = sweep + 2 >= sweeps;
      for (uint32_t r = 0; r < a_.row_count(); ++r) Fit(r, true, last);
      for (uint32_t r = a_.row_count(); r-- > 0;) Fit(r, last, true);
    }
    return Finish();
  }

 private:
  float Width(uint32_t item) const {
    return item < a_.node_count ? nodes_[item].width : kBendWidth;
  }
  std::span<const uint32_t> Row(uint32_t r) const {
    return std::span(a_.row_items).subspan(a_.row_first[r], a_.row_first[r + 1] - a_.row_first[r]);
  }
  EdgeEnds Ends(size_t e) const { return ends_.empty() ? EdgeEnds() : ends_[e]; }

  // Calls visit(upper item, its offset, lower item, its offset) for each segment of every edge.
  template <typename Visit>
  void ForEachSegment(Visit visit) const {
    for (size_t e = 0; e < edges_.size(); ++e) {
      if (a_.jump[e] || edges_[e].from == edges_[e].to) continue;
      EdgeEnds ends = Ends(e);
      uint32_t from = edges_[e].from, to = edges_[e].to;
      if (a_.reversed[e]) {
        std::swap(from, to);
        std::swap(ends.from, ends.to);
      }
      float offset = ends.from;
      for (uint32_t k = 0; k < a_.edge_bends[e]; ++k) {
        const uint32_t bend = a_.edge_first_item[e] + k;
        visit(from, offset, bend, 0.0f);
        from = bend;
        offset = 0;
      }
      visit(from, offset, to, ends.to);
    }
  }

  void CollectPulls() {
    struct Step {
      uint32_t upper, lower;
      float offset;
      double weight;
    };
    std::vector<Step> steps;
    ForEachSegment([&](uint32_t upper, float upper_offset, uint32_t lower, float lower_offset) {
      const int bends = (upper >= a_.node_count ? 1 : 0) + (lower >= a_.node_count ? 1 : 0);
      const double weight = bends == 2 ? kPullBend : bends == 1 ? kPullMixed : kPullNode;
      steps.push_back({upper, lower, upper_offset - lower_offset, weight});
    });
    auto number = [](size_t s) { return s; };
    Lists of_lower(a_.row.size(), steps.size(), [&](size_t s) { return steps[s].lower; }, number);
    Lists of_upper(a_.row.size(), steps.size(), [&](size_t s) { return steps[s].upper; }, number);
    first_above_.push_back(0);
    first_below_.push_back(0);
    for (uint32_t item = 0; item < a_.row.size(); ++item) {
      for (uint32_t s : of_lower[item])
        above_.push_back({steps[s].upper, steps[s].offset, steps[s].weight});
      for (uint32_t s : of_upper[item])
        below_.push_back({steps[s].lower, -steps[s].offset, steps[s].weight});
      first_above_.push_back(static_cast<uint32_t>(above_.size()));
      first_below_.push_back(static_cast<uint32_t>(below_.size()));
    }
  }

  float Distance(uint32_t left, uint32_t right) const {
    const bool bends = left >= a_.node_count && right >= a_.node_count;
    return (Width(left) + Width(right)) / 2 + (bends ? options_.node_gap / 3 : options_.node_gap);
  }

  // Every row side by side, centred.
  void Pack() {
    x_.assign(a_.row.size(), 0);
    for (uint32_t r = 0; r < a_.row_count(); ++r) {
      auto row = Row(r);
      if (row.empty()) continue;
      double x = 0;
      for (size_t k = 0; k < row.size(); ++k) {
        if (k > 0) x += static_cast<double>(Distance(row[k - 1], row[k]));
        x_[row[k]] = x;
      }
      for (uint32_t item : row) x_[item] -= x / 2;
    }
  }

  static void Add(std::span<const Pull> pulls, const std::vector<double>& x, double& sum,
                  double& weight) {
    for (const Pull& pull : pulls) {
      sum += pull.weight * (x[pull.item] + static_cast<double>(pull.offset));
      weight += pull.weight;
    }
  }

  // Least squares under minimum distances: with the distances taken off, the places must not
  // decrease, which pooling adjacent violators solves exactly.
  void Fit(uint32_t r, bool by_above, bool by_below) {
    auto row = Row(r);
    pools_.clear();
    double shift = 0;
    for (size_t k = 0; k < row.size(); ++k) {
      const uint32_t item = row[k];
      if (k > 0) shift += static_cast<double>(Distance(row[k - 1], item));
      double sum = 0, weight = 0;
      if (by_above) Add(Above(item), x_, sum, weight);
      if (by_below) Add(Below(item), x_, sum, weight);
      if (weight == 0) {
        weight = 0.05;
        sum = weight * x_[item];
      }
      weight += options_.gravity;  // towards the middle, at 0
      pools_.push_back({sum - weight * shift, weight, 1});
      while (pools_.size() > 1 && pools_[pools_.size() - 2].Mean() >= pools_.back().Mean()) {
        Pool last = pools_.back();
        pools_.pop_back();
        pools_.back().sum += last.sum;
        pools_.back().weight += last.weight;
        pools_.back().count += last.count;
      }
    }
    size_t k = 0;
    shift = 0;
    for (const Pool& pool : pools_) {
      for (uint32_t i = 0; i < pool.count; ++i, ++k) {
        if (k > 0) shift += static_cast<double>(Distance(row[k - 1], row[k]));
        x_[row[k]] = pool.Mean() + shift;
      }
    }
  }

  std::span<const Pull> Above(uint32_t item) const {
    return std::span(above_).subspan(first_above_[item],
                                     first_above_[item + 1] - first_above_[item]);
  }
  std::span<const Pull> Below(uint32_t item) const {
    return std::span(below_).subspan(first_below_[item],
                                     first_below_[item + 1] - first_below_[item]);
  }

  // Rows get the height of their highest node; everything moves so that the picture begins at 0.
  FlatLayout Finish() {
    FlatLayout out;
    CloseStrips();
    StandFirst(out);
    StackRows(out);
    for (uint32_t v = 0; v < a_.node_count; ++v) {
      const uint32_t r = a_.row[v];
      out.center.push_back({static_cast<float>(x_[v]), top_[r] + height_[r] / 2});
    }
    Route(out);
    return out;
  }

  // Where nothing stands in any row, right and left of it move together.
  void CloseStrips() {
    std::vector<uint32_t> items(a_.row.size());
    std::iota(items.begin(), items.end(), 0);
    const auto left = [&](uint32_t item) {
      return x_[item] - static_cast<double>(Width(item)) / 2;
    };
    std::ranges::sort(items, {}, left);
    double end = 0, shift = 0;
    for (size_t k = 0; k < items.size(); ++k) {
      const uint32_t item = items[k];
      if (k == 0) end = left(item);
      const double free = left(item) - end - static_cast<double>(options_.node_gap);
      if (free > 0) shift += free;
      end = std::max(end, left(item) + static_cast<double>(Width(item)));
      x_[item] -= shift;
    }
  }

  // Begins at 0.
  void StandFirst(FlatLayout& out) {
    double left = std::numeric_limits<double>::infinity(), right = 0;
    for (uint32_t item = 0; item < a_.row.size(); ++item) {
      const double half = static_cast<double>(Width(item)) / 2;
      right = std::isinf(left) ? x_[item] + half : std::max(right, x_[item] + half);
      left = std::min(left, x_[item] - half);
    }
    if (std::isinf(left)) return;
    out.width = static_cast<float>(right - left);
    for (double& x : x_) x -= left;
  }

  void StackRows(FlatLayout& out) {
    for (uint32_t r = 0; r < a_.row_count(); ++r) {
      float height = 0;
      for (uint32_t item : Row(r)) {
        if (item < a_.node_count) height = std::max(height, nodes_[item].height);
      }
      height_.push_back(height);
    }
    const float gap = RowGap();
    float y = 0;
    for (const float height : height_) {
      top_.push_back(y);
      y += height;
      out.height = std::max(out.height, y);
      y += height > 0 ? gap : gap / 2;
    }
  }

  // After a row without nodes half of it.
  float RowGap() const {
    float heights = 0, gaps = 0;
    for (size_t r = 0; r < height_.size(); ++r) {
      heights += height_[r];
      if (r + 1 < height_.size()) gaps += height_[r] > 0 ? 1.0f : 0.5f;
    }
    if (gaps == 0 || options_.most_row_gap <= options_.row_gap) return options_.row_gap;
    return std::clamp((options_.least_height - heights) / gaps, options_.row_gap,
                      options_.most_row_gap);
  }

  void Route(FlatLayout& out) const {
    out.first_point.assign(edges_.size(), 0);
    out.point_count.assign(edges_.size(), 0);
    for (size_t e = 0; e < edges_.size(); ++e) {
      out.first_point[e] = static_cast<uint32_t>(out.points.size());
      if (a_.jump[e] || edges_[e].from == edges_[e].to) continue;
      RouteEdge(e, out);
      if (a_.reversed[e]) std::reverse(out.points.begin() + out.first_point[e], out.points.end());
      out.point_count[e] = static_cast<uint32_t>(out.points.size()) - out.first_point[e];
    }
  }

  void RouteEdge(size_t e, FlatLayout& out) const {
    uint32_t from = edges_[e].from, to = edges_[e].to;
    EdgeEnds ends = Ends(e);
    if (a_.reversed[e]) {
      std::swap(from, to);
      std::swap(ends.from, ends.to);
    }
    const Point a = out.center[from], b = out.center[to];
    // Beside higher neighbours an edge runs straight down before it turns.
    const float first_end = top_[a_.row[from]] + height_[a_.row[from]];
    const float last_begin = top_[a_.row[to]];
    out.points.push_back({a.x + ends.from, a.y + nodes_[from].height / 2});
    if (out.points.back().y + 1 < first_end) out.points.push_back({a.x + ends.from, first_end});
    for (uint32_t k = 0; k < a_.edge_bends[e]; ++k) {
      const uint32_t bend = a_.edge_first_item[e] + k, r = a_.row[bend];
      const auto x = static_cast<float>(x_[bend]);
      out.points.push_back({x, top_[r]});
      if (height_[r] > 0) out.points.push_back({x, top_[r] + height_[r]});
    }
    const Point end{b.x + ends.to, b.y - nodes_[to].height / 2};
    if (last_begin + 1 < end.y) out.points.push_back({end.x, last_begin});
    out.points.push_back(end);
  }

  struct Pool {
    double sum = 0, weight = 0;
    uint32_t count = 0;
    double Mean() const { return sum / weight; }
  };

  const Arrangement& a_;
  std::span<const FlatNode> nodes_;
  std::span<const FlatEdge> edges_;
  std::span<const EdgeEnds> ends_;
  const LayoutOptions& options_;
  std::vector<Pull> above_, below_;
  std::vector<uint32_t> first_above_, first_below_;
  std::vector<double> x_;
  std::vector<float> top_, height_;
  std::vector<Pool> pools_;
};

}  // namespace

FlatLayout Place(const Arrangement& arrangement, std::span<const FlatNode> nodes,
                 std::span<const FlatEdge> edges, std::span<const EdgeEnds> ends,
                 const LayoutOptions& options) {
  return Placer(arrangement, nodes, edges, ends, options).Run();
}

}  // namespace hloscope::graph
