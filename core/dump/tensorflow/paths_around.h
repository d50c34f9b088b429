// Paths between two groups of nodes that leave both: what would become a cycle if they were joined.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/dump/tensorflow/graph_edges.h"

namespace hloscope::dump {

struct PathEnd {
  int32_t group = -1;
  std::span<const int32_t> nodes;  // all of the group, or one node of it: where a path may end
};

class PathsAround {
 public:
  static constexpr int64_t kMaxSteps = 20'000'000;  // over all searches

  // `cluster` by node; below 0: in none. `members` by cluster. `ends` by node: not 0 where its
  // users belong to the next turn of a loop (NextIteration), so that no path leads on.
  PathsAround(const GraphEdges& edges, std::vector<int32_t> cluster,
              std::vector<std::span<const int32_t>> members, std::vector<char> ends);

  // The nodes between the ends, in order; empty: there is no path, or no more steps are left.
  // `group` by node. What goes into a cluster waits for all that comes out of it.
  std::vector<int32_t> Find(const std::vector<int32_t>& group, PathEnd from, PathEnd to);

  bool exhausted() const { return steps_ > kMaxSteps; }
  int64_t steps() const { return steps_; }

 private:
  static constexpr int32_t kNoLevel = -1;  // on a cycle or after one

  void FindLevels();
  std::span<const GraphEdge> UsersOf(int32_t node) const;
  size_t UnitOf(int32_t node) const;
  int32_t LevelOf(int32_t node) const { return levels_[UnitOf(node)]; }
  int32_t LastLevel(std::span<const int32_t> nodes);  // kNoLevel: one of them has none
  bool Visit(int32_t node, int32_t last);

  const GraphEdges& edges_;
  std::vector<int32_t> cluster_;
  std::vector<std::span<const int32_t>> members_;
  std::vector<char> ends_;       // by node
  std::vector<int32_t> levels_;  // by cluster, then by node: longest path from an input
  std::vector<int32_t> seen_;    // by node: the search that saw it last
  std::vector<int32_t> before_, work_;
  int32_t search_ = 0;
  int64_t steps_ = 0;
};

}  // namespace hloscope::dump
