// Place: every row is fitted to where its neighbours want it, exactly, under minimum distances.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/graph/layered.h"

namespace hloscope::graph {
namespace {

constexpr float kBendWidth = 2;
// Edges that go on in the next column: lines, the distance between them and to the boxes.
constexpr size_t kMaxIterations = 12;
constexpr float kTurnStep = 6, kTurnGap = 18;
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
  // Of an item: how many columns begin at its row or above, less one.
  uint32_t ColumnOf(uint32_t item) const {
    const auto& first = a_.column_first;
    if (first.empty()) return 0;
    return static_cast<uint32_t>(std::ranges::upper_bound(first, a_.row[item]) - first.begin()) - 1;
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
      if (ColumnOf(upper) != ColumnOf(lower)) return;
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
    FindTurns();
    StandColumns(out);
    StackRows(out);
    for (uint32_t v = 0; v < a_.node_count; ++v) {
      const uint32_t r = a_.row[v];
      out.center.push_back({static_cast<float>(x_[v]), top_[r] + height_[r] / 2});
    }
    Route(out);
    return out;
  }

  // Where nothing stands in any row of a column, right and left of it move together.
  void CloseStrips() {
    std::vector<uint32_t> items(a_.row.size());
    std::iota(items.begin(), items.end(), 0);
    const auto left = [&](uint32_t item) {
      return x_[item] - static_cast<double>(Width(item)) / 2;
    };
    std::ranges::sort(items, [&](uint32_t a, uint32_t b) {
      return std::pair(ColumnOf(a), left(a)) < std::pair(ColumnOf(b), left(b));
    });
    double end = 0, shift = 0;
    for (size_t k = 0; k < items.size(); ++k) {
      const uint32_t item = items[k];
      if (k == 0 || ColumnOf(item) != ColumnOf(items[k - 1])) {
        end = left(item);
        shift = 0;
      }
      const double free = left(item) - end - static_cast<double>(options_.node_gap);
      if (free > 0) shift += free;
      end = std::max(end, left(item) + static_cast<double>(Width(item)));
      x_[item] -= shift;
    }
  }

  // Columns side by side, between them room for the edges that go on in the next one.
  void StandColumns(FlatLayout& out) {
    const size_t columns = std::max<size_t>(1, a_.column_first.size());
    std::vector<double> left(columns, std::numeric_limits<double>::infinity()), right(columns, 0);
    for (uint32_t item = 0; item < a_.row.size(); ++item) {
      const double half = static_cast<double>(Width(item)) / 2;
      const uint32_t c = ColumnOf(item);
      right[c] = std::isinf(left[c]) ? x_[item] + half : std::max(right[c], x_[item] + half);
      left[c] = std::min(left[c], x_[item] - half);
    }
    std::vector<double> shift(columns, 0);
    double at = 0;
    for (size_t c = 0; c < columns; ++c) {
      if (std::isinf(left[c])) continue;
      shift[c] = at - left[c];
      at += right[c] - left[c];
      gutter_.push_back(static_cast<float>(at) + kTurnGap);
      if (c + 1 < columns) at += static_cast<double>(2 * kTurnGap + Room(turns_[c]));
    }
    out.width = static_cast<float>(at);
    for (uint32_t item = 0; item < a_.row.size(); ++item) x_[item] += shift[ColumnOf(item)];
  }

  void StackRows(FlatLayout& out) {
    float most = 0;
    for (const std::vector<uint32_t>& turns : turns_) most = std::max(most, Room(turns) + kTurnGap);
    const float begin = most;  // above the columns, where edges come from the one before
    float y = begin;
    size_t column = 0;
    for (uint32_t r = 0; r < a_.row_count(); ++r) {
      if (column + 1 < a_.column_first.size() && a_.column_first[column + 1] == r) {
        ++column;
        y = begin;
      }
      float height = 0;
      for (uint32_t item : Row(r)) {
        if (item < a_.node_count) height = std::max(height, nodes_[item].height);
      }
      top_.push_back(y);
      height_.push_back(height);
      y += height;
      out.height = std::max(out.height, y);
      y += height > 0 ? options_.row_gap : options_.row_gap / 2;
    }
    bottom_ = out.height + kTurnGap / 2;
    out.height += most;
  }

  // The nodes whose edges go on in the next column, by column; of each the place among the lines
  // beside it: those from the right turn first, so that no two cross.
  void FindTurns() {
    if (a_.column_first.size() < 2) return;
    std::vector<std::vector<std::pair<double, uint32_t>>> found(a_.column_first.size());
    ForEachStep([&](size_t e, uint32_t upper, uint32_t lower) {
      if (ColumnOf(upper) != ColumnOf(lower))
        found[ColumnOf(upper)].push_back({-x_[upper], Top(e)});
    });
    turns_.resize(found.size());
    for (size_t c = 0; c < found.size(); ++c) {
      std::ranges::sort(found[c]);
      for (const auto& [x, node] : found[c]) {
        if (std::ranges::find(turns_[c], node) == turns_[c].end() &&
            turns_[c].size() < kMaxIterations)
          turns_[c].push_back(node);
      }
    }
  }
  static float Room(const std::vector<uint32_t>& turns) {
    return kTurnStep * static_cast<float>(turns.size());
  }
  // The node that an edge comes from when it leads down.
  uint32_t Top(size_t e) const { return a_.reversed[e] ? edges_[e].to : edges_[e].from; }
  // Calls visit(edge, item, the item one row below) along every edge.
  template <typename Visit>
  void ForEachStep(Visit visit) const {
    for (size_t e = 0; e < edges_.size(); ++e) {
      if (a_.jump[e] || edges_[e].from == edges_[e].to) continue;
      uint32_t upper = Top(e);
      for (uint32_t k = 0; k < a_.edge_bends[e]; ++k) {
        visit(e, upper, a_.edge_first_item[e] + k);
        upper = a_.edge_first_item[e] + k;
      }
      visit(e, upper, a_.reversed[e] ? edges_[e].from : edges_[e].to);
    }
  }

  // From the foot of one column, which the line reached at `x`, to the head of the next at `to`.
  void Turn(uint32_t column, uint32_t node, float to, std::vector<Point>& points) const {
    const std::vector<uint32_t>& turns = turns_[column];
    const auto place = static_cast<float>(std::ranges::find(turns, node) - turns.begin());
    const float by = kTurnStep * std::min(place, static_cast<float>(kMaxIterations - 1));
    const float x = points.back().x, down = bottom_ + by, across = gutter_[column] + by;
    for (const Point& p : {Point{x, down}, Point{across, down}, Point{across, by}, Point{to, by}})
      points.push_back(p);
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
    uint32_t column = ColumnOf(from);
    const auto step_to = [&](uint32_t item, float x) {
      if (ColumnOf(item) != column) Turn(column, from, x, out.points);
      column = ColumnOf(item);
    };
    for (uint32_t k = 0; k < a_.edge_bends[e]; ++k) {
      const uint32_t bend = a_.edge_first_item[e] + k, r = a_.row[bend];
      const auto x = static_cast<float>(x_[bend]);
      step_to(bend, x);
      out.points.push_back({x, top_[r]});
      if (height_[r] > 0) out.points.push_back({x, top_[r] + height_[r]});
    }
    const Point end{b.x + ends.to, b.y - nodes_[to].height / 2};
    step_to(to, end.x);
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
  std::vector<std::vector<uint32_t>> turns_;  // by column
  std::vector<float> gutter_;                 // where the first line beside a column stands
  float bottom_ = 0;                          // where the first line below the columns runs
  std::vector<Pool> pools_;
};

}  // namespace

FlatLayout Place(const Arrangement& arrangement, std::span<const FlatNode> nodes,
                 std::span<const FlatEdge> edges, std::span<const EdgeEnds> ends,
                 const LayoutOptions& options) {
  return Placer(arrangement, nodes, edges, ends, options).Run();
}

}  // namespace hloscope::graph
