// Rows of a layered layout: cycles turned round, longest paths, then moves that shorten edges.
#include <algorithm>
#include <limits>

#include "core/graph/layered.h"

namespace hloscope::graph {
namespace {

constexpr int kTighteningPasses = 12;
constexpr size_t kSimplexNodes = 3000;

struct Adjacency {
  Lists in, out;  // edge numbers by node
};

std::vector<uint32_t> TopologicalOrder(std::span<const DownEdge> edges, const Adjacency& adjacent) {
  const size_t n = adjacent.in.keys();
  std::vector<uint32_t> left(n), order;
  order.reserve(n);
  for (size_t v = 0; v < n; ++v) {
    left[v] = static_cast<uint32_t>(adjacent.in[v].size());
    if (left[v] == 0) order.push_back(static_cast<uint32_t>(v));
  }
  for (size_t k = 0; k < order.size(); ++k) {
    for (uint32_t e : adjacent.out[order[k]]) {
      if (--left[edges[e].to] == 0) order.push_back(edges[e].to);
    }
  }
  return order;
}

// Where a node may stand while its neighbours stay, and whether lower rows are cheaper.
struct Room {
  int64_t lowest = 0, highest = std::numeric_limits<int64_t>::max();
  double slope = 0;  // cost of one row further down
};

Room RoomOf(uint32_t v, std::span<const DownEdge> edges, const Adjacency& adjacent,
            const std::vector<uint32_t>& row) {
  Room room;
  for (uint32_t e : adjacent.in[v]) {
    room.lowest = std::max<int64_t>(room.lowest, row[edges[e].from] + 1);
    room.slope += static_cast<double>(edges[e].weight);
  }
  for (uint32_t e : adjacent.out[v]) {
    room.highest = std::min<int64_t>(room.highest, static_cast<int64_t>(row[edges[e].to]) - 1);
    room.slope -= static_cast<double>(edges[e].weight);
  }
  return room;
}

// Moves one node to the end of its room where its edges are shortest.
bool Tighten(uint32_t v, std::span<const DownEdge> edges, const Adjacency& adjacent,
             std::vector<uint32_t>& row) {
  Room room = RoomOf(v, edges, adjacent, row);
  int64_t to = row[v];
  if (room.slope > 0) to = room.lowest;
  if (room.slope < 0 && room.highest < std::numeric_limits<int64_t>::max()) to = room.highest;
  if (to == row[v]) return false;
  row[v] = static_cast<uint32_t>(to);
  return true;
}

// Nodes that lie equally well in several rows go where fewest others are.
void Balance(std::span<const DownEdge> edges, const Adjacency& adjacent,
             std::vector<uint32_t>& row) {
  std::vector<uint32_t> fill;
  for (uint32_t r : row) {
    if (r >= fill.size()) fill.resize(r + 1, 0);
    ++fill[r];
  }
  for (uint32_t v = 0; v < row.size(); ++v) {
    Room room = RoomOf(v, edges, adjacent, row);
    if (room.slope < -1e-6 || room.slope > 1e-6 || adjacent.in[v].empty()) continue;
    const auto highest = std::min<int64_t>(room.highest, static_cast<int64_t>(fill.size()) - 1);
    auto best = static_cast<int64_t>(row[v]);
    for (int64_t r = room.lowest; r <= highest; ++r) {
      if (fill[static_cast<size_t>(r)] + 1 < fill[static_cast<size_t>(best)]) best = r;
    }
    --fill[row[v]];
    row[v] = static_cast<uint32_t>(best);
    ++fill[row[v]];
  }
}

// Pinned nodes go to rows of their own before and after all others.
void PlacePins(std::span<const FlatNode> nodes, std::vector<uint32_t>& row) {
  uint32_t top = 0, last = 0;
  for (size_t v = 0; v < nodes.size(); ++v) {
    if (nodes[v].pin == RowPin::kTop) top = 1;
  }
  for (size_t v = 0; v < nodes.size(); ++v) {
    row[v] = nodes[v].pin == RowPin::kTop ? 0 : row[v] + top;
    if (nodes[v].pin != RowPin::kBottom) last = std::max(last, row[v]);
  }
  for (size_t v = 0; v < nodes.size(); ++v) {
    if (nodes[v].pin == RowPin::kBottom) row[v] = last + 1;
  }
}

// Rows without nodes are left out.
void CloseGaps(std::vector<uint32_t>& row) {
  uint32_t rows = 0;
  for (uint32_t r : row) rows = std::max(rows, r + 1);
  std::vector<uint32_t> number(rows, 0);
  for (uint32_t r : row) number[r] = 1;
  uint32_t next = 0;
  for (uint32_t& n : number) n = n != 0 ? next++ : next;
  for (uint32_t& r : row) r = number[r];
}

}  // namespace

std::vector<bool> BackEdges(size_t nodes, std::span<const FlatEdge> edges) {
  Lists out(
      nodes, edges.size(), [&](size_t e) { return edges[e].from; }, [](size_t e) { return e; });
  enum : uint8_t { kNew, kOnPath, kDone };
  std::vector<uint8_t> state(nodes, kNew);
  std::vector<bool> back(edges.size(), false);
  std::vector<std::pair<uint32_t, uint32_t>> path;  // node, next of its edges
  for (uint32_t start = 0; start < nodes; ++start) {
    if (state[start] != kNew) continue;
    state[start] = kOnPath;
    path.emplace_back(start, 0);
    while (!path.empty()) {
      auto& [v, next] = path.back();
      if (next == out[v].size()) {
        state[v] = kDone;
        path.pop_back();
        continue;
      }
      uint32_t e = out[v][next++], to = edges[e].to;
      if (state[to] == kOnPath) {
        back[e] = to != v;
      } else if (state[to] == kNew) {
        state[to] = kOnPath;
        path.emplace_back(to, 0);
      }
    }
  }
  return back;
}

std::vector<uint32_t> Rank(std::span<const FlatNode> nodes, std::span<const DownEdge> all) {
  // Pinned nodes are set afterwards and pull at nobody.
  std::vector<DownEdge> edges;
  edges.reserve(all.size());
  for (const DownEdge& e : all) {
    if (nodes[e.from].pin == RowPin::kFree && nodes[e.to].pin == RowPin::kFree) edges.push_back(e);
  }
  auto number = [](size_t e) { return e; };
  Adjacency adjacent{
      Lists(
          nodes.size(), edges.size(), [&](size_t e) { return edges[e].to; }, number),
      Lists(nodes.size(), edges.size(), [&](size_t e) { return edges[e].from; }, number)};
  std::vector<uint32_t> order = TopologicalOrder(edges, adjacent), row(nodes.size(), 0);
  for (uint32_t v : order) {
    for (uint32_t e : adjacent.out[v]) row[edges[e].to] = std::max(row[edges[e].to], row[v] + 1);
  }
  for (int pass = 0; pass < kTighteningPasses; ++pass) {
    bool moved = false;
    for (auto v = order.rbegin(); v != order.rend(); ++v)
      moved |= Tighten(*v, edges, adjacent, row);
    for (uint32_t v : order) moved |= Tighten(v, edges, adjacent, row);
    if (!moved) break;
  }
  if (nodes.size() <= kSimplexNodes) {
    ShortenBySimplex(edges, row);
    Balance(edges, adjacent, row);
  }
  PlacePins(nodes, row);
  CloseGaps(row);
  return row;
}

}  // namespace hloscope::graph
