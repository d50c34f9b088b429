// A breadth-first search that visits nothing later than its end in the order of execution.
#include "core/dump/tensorflow/paths_around.h"

#include <algorithm>

namespace hloscope::dump {

PathsAround::PathsAround(const GraphEdges& edges, std::vector<int32_t> cluster,
                         std::vector<std::span<const int32_t>> members, std::vector<char> ends)
    : edges_(edges),
      cluster_(std::move(cluster)),
      members_(std::move(members)),
      ends_(std::move(ends)),
      levels_(members_.size() + cluster_.size(), kNoLevel),
      seen_(cluster_.size(), 0),
      before_(cluster_.size(), -1) {
  FindLevels();
}

size_t PathsAround::UnitOf(int32_t node) const {
  const int32_t cluster = cluster_[static_cast<size_t>(node)];
  return cluster < 0 ? members_.size() + static_cast<size_t>(node) : static_cast<size_t>(cluster);
}

std::span<const GraphEdge> PathsAround::UsersOf(int32_t node) const {
  if (ends_[static_cast<size_t>(node)] != 0) return {};
  return edges_.users(node);
}

// Of the graph in which every cluster is one node. All that leads to a node with a level has one.
void PathsAround::FindLevels() {
  std::vector<int32_t> waiting(levels_.size(), 0), level(levels_.size(), 0);
  for (int32_t n : edges_.main()) {
    for (const GraphEdge& user : UsersOf(n))
      waiting[UnitOf(user.node)] += UnitOf(user.node) != UnitOf(n);
  }
  std::vector<size_t> ready;
  auto add = [&](size_t unit) {
    levels_[unit] = level[unit];
    ready.push_back(unit);
  };
  for (int32_t n : edges_.main()) {
    const size_t unit = UnitOf(n);
    if (waiting[unit] == 0 && levels_[unit] == kNoLevel) add(unit);
  }
  for (size_t k = 0; k < ready.size(); ++k) {
    const size_t unit = ready[k];
    auto leave = [&](int32_t n) {
      for (const GraphEdge& user : UsersOf(n)) {
        const size_t next = UnitOf(user.node);
        if (next == unit) continue;
        level[next] = std::max(level[next], level[unit] + 1);
        if (--waiting[next] == 0) add(next);
      }
    };
    if (unit < members_.size()) {
      for (int32_t n : members_[unit]) leave(n);
    } else {
      leave(static_cast<int32_t>(unit - members_.size()));
    }
  }
}

int32_t PathsAround::LastLevel(std::span<const int32_t> nodes) {
  int32_t last = LevelOf(nodes.front());
  if (cluster_[static_cast<size_t>(nodes.front())] >= 0) return last;  // all have the same
  for (int32_t n : nodes) {
    ++steps_;
    if (LevelOf(n) == kNoLevel) return kNoLevel;
    last = std::max(last, LevelOf(n));
  }
  return last;
}

bool PathsAround::Visit(int32_t node, int32_t last) {
  ++steps_;
  const auto n = static_cast<size_t>(node);
  if (seen_[n] == search_) return false;
  seen_[n] = search_;
  before_[n] = last;
  work_.push_back(node);
  return true;
}

std::vector<int32_t> PathsAround::Find(const std::vector<int32_t>& group, PathEnd from,
                                       PathEnd to) {
  ++search_;
  work_.clear();
  const int32_t last_level = LastLevel(to.nodes);
  auto leads_on = [&](int32_t n) {
    const int32_t g = group[static_cast<size_t>(n)];
    if (g == from.group || g == to.group) return false;
    return last_level == kNoLevel || (LevelOf(n) != kNoLevel && LevelOf(n) < last_level);
  };
  auto visit = [&](int32_t n, int32_t last) {
    if (!leads_on(n) || !Visit(n, last)) return;
    const int32_t cluster = cluster_[static_cast<size_t>(n)];
    if (cluster < 0) return;
    for (int32_t member : members_[static_cast<size_t>(cluster)]) Visit(member, n);
  };
  for (int32_t n : from.nodes) {
    ++steps_;
    for (const GraphEdge& user : UsersOf(n)) visit(user.node, -1);
  }
  for (size_t k = 0; k < work_.size() && !exhausted(); ++k) {
    for (const GraphEdge& user : UsersOf(work_[k])) {
      const bool arrived = group[static_cast<size_t>(user.node)] == to.group &&
                           (to.nodes.size() > 1 || user.node == to.nodes.front());
      if (!arrived) {
        visit(user.node, work_[k]);
        continue;
      }
      std::vector<int32_t> path;
      for (int32_t n = work_[k]; n >= 0; n = before_[static_cast<size_t>(n)]) path.push_back(n);
      std::ranges::reverse(path);
      return path;
    }
  }
  return {};
}

}  // namespace hloscope::dump
