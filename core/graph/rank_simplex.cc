// Rows with the least sum of weighted spans, by the network simplex method on a tree of tight edges
// (Gansner, Koutsofios, North, Vo: A Technique for Drawing Directed Graphs, 1993).
#include <algorithm>
#include <limits>

#include "core/graph/layered.h"

namespace hloscope::graph {
namespace {

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
// Steps of the method times the size of the graph: what a drawing may wait for.
constexpr int64_t kWorkLimit = 60'000'000;

class RankSimplex {
 public:
  RankSimplex(std::span<const DownEdge> edges, std::vector<uint32_t>& row)
      : edges_(edges),
        n_(row.size()),
        out_row_(row),
        row_(row.begin(), row.end()),
        touching_(
            n_, edges.size() * 2,
            [&](size_t k) { return k % 2 == 0 ? edges[k / 2].from : edges[k / 2].to; },
            [](size_t k) { return k / 2; }),
        net_(n_, 0),
        in_tree_(edges.size(), false) {
    for (const DownEdge& e : edges) {
      net_[e.from] += static_cast<double>(e.weight);
      net_[e.to] -= static_cast<double>(e.weight);
    }
  }

  void Run() {
    GrowTrees();
    const int64_t size = static_cast<int64_t>(n_ + edges_.size()) + 1;
    for (int64_t step = 0; step < kWorkLimit / size; ++step) {
      Traverse();
      uint32_t child = Leaving();
      if (child == kNone) break;
      if (!Replace(child)) break;
    }
    Normalize();
  }

 private:
  int64_t Slack(uint32_t e) const { return row_[edges_[e].to] - row_[edges_[e].from] - 1; }
  uint32_t Other(uint32_t e, uint32_t v) const {
    return edges_[e].from == v ? edges_[e].to : edges_[e].from;
  }

  // A spanning tree of tight edges for each connected part; a tree that cannot grow is moved until
  // an edge that leaves it is tight.
  void GrowTrees() {
    tree_of_.assign(n_, kNone);
    std::vector<uint32_t> members;
    for (uint32_t start = 0; start < n_; ++start) {
      if (tree_of_[start] != kNone) continue;
      members.assign(1, start);
      tree_of_[start] = start;
      roots_.push_back(start);
      size_t done = 0;
      while (true) {
        for (; done < members.size(); ++done) Absorb(members[done], start, members);
        if (!Approach(start, members)) break;
        done = 0;
      }
    }
  }

  void Absorb(uint32_t v, uint32_t tree, std::vector<uint32_t>& members) {
    for (uint32_t e : touching_[v]) {
      const uint32_t other = Other(e, v);
      if (tree_of_[other] != kNone || Slack(e) != 0) continue;
      tree_of_[other] = tree;
      in_tree_[e] = true;
      members.push_back(other);
    }
  }

  bool Approach(uint32_t tree, const std::vector<uint32_t>& members) {
    int64_t least = std::numeric_limits<int64_t>::max();
    bool outward = false;
    for (uint32_t v : members) {
      for (uint32_t e : touching_[v]) {
        if (tree_of_[Other(e, v)] == tree || Slack(e) >= least) continue;
        least = Slack(e);
        outward = edges_[e].from == v;
      }
    }
    if (least == std::numeric_limits<int64_t>::max()) return false;
    for (uint32_t v : members) row_[v] += outward ? least : -least;
    return true;
  }

  // Parents, subtree intervals and the net weight out of each subtree.
  void Traverse() {
    parent_edge_.assign(n_, kNone);
    first_.assign(n_, 0);
    last_.assign(n_, 0);
    sum_ = net_;
    order_.clear();
    for (uint32_t root : roots_) {
      stack_.assign(1, root);
      while (!stack_.empty()) {
        const uint32_t v = stack_.back();
        stack_.pop_back();
        first_[v] = static_cast<uint32_t>(order_.size());
        order_.push_back(v);
        for (uint32_t e : touching_[v]) {
          if (!in_tree_[e] || e == parent_edge_[v]) continue;
          const uint32_t child = Other(e, v);
          parent_edge_[child] = e;
          stack_.push_back(child);
        }
      }
    }
    for (uint32_t v : order_) last_[v] = first_[v];
    for (size_t k = order_.size(); k-- > 0;) {
      const uint32_t v = order_[k];
      if (parent_edge_[v] == kNone) continue;
      const uint32_t parent = Other(parent_edge_[v], v);
      sum_[parent] += sum_[v];
      last_[parent] = std::max(last_[parent], last_[v]);
    }
  }

  // The lower end of the tree edge whose cut would save most; kNone at the optimum.
  uint32_t Leaving() const {
    uint32_t best = kNone;
    double least = -1e-6;
    for (uint32_t v : order_) {
      if (parent_edge_[v] == kNone) continue;
      const double cut = edges_[parent_edge_[v]].from == v ? sum_[v] : -sum_[v];
      if (cut >= least) continue;
      least = cut;
      best = v;
    }
    return best;
  }

  bool Below(uint32_t v, uint32_t top) const {
    return first_[v] >= first_[top] && first_[v] <= last_[top];
  }

  bool Replace(uint32_t child) {
    const uint32_t leaving = parent_edge_[child];
    const bool outward = edges_[leaving].from == child;  // from the subtree to the rest
    uint32_t entering = kNone;
    int64_t least = std::numeric_limits<int64_t>::max();
    for (uint32_t k = first_[child]; k <= last_[child]; ++k) {
      const uint32_t v = order_[k];
      for (uint32_t e : touching_[v]) {
        // Against the direction of the leaving edge, between subtree and rest.
        if ((edges_[e].from == v) == outward || Below(Other(e, v), child) || Slack(e) >= least)
          continue;
        least = Slack(e);
        entering = e;
      }
    }
    if (entering == kNone) return false;
    for (uint32_t k = first_[child]; k <= last_[child]; ++k)
      row_[order_[k]] += outward ? -least : least;
    in_tree_[leaving] = false;
    in_tree_[entering] = true;
    return true;
  }

  // Each connected part begins at row 0.
  void Normalize() {
    std::vector<int64_t> top(n_, std::numeric_limits<int64_t>::max());
    for (uint32_t v = 0; v < n_; ++v) top[tree_of_[v]] = std::min(top[tree_of_[v]], row_[v]);
    for (uint32_t v = 0; v < n_; ++v)
      out_row_[v] = static_cast<uint32_t>(row_[v] - top[tree_of_[v]]);
  }

  std::span<const DownEdge> edges_;
  size_t n_;
  std::vector<uint32_t>& out_row_;
  std::vector<int64_t> row_;
  Lists touching_;
  std::vector<double> net_, sum_;
  std::vector<bool> in_tree_;
  std::vector<uint32_t> tree_of_, roots_, parent_edge_, first_, last_, order_, stack_;
};

}  // namespace

void ShortenBySimplex(std::span<const DownEdge> edges, std::vector<uint32_t>& row) {
  RankSimplex(edges, row).Run();
}

}  // namespace hloscope::graph
