// What the steps of a layered layout hand to one another.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/layout.h"

namespace hloscope::graph {

// Lists of numbers by key, in two arrays.
class Lists {
 public:
  Lists() = default;
  // Lists of `value(i)` by `key(i)` for i of [0, n), each list in the order of i; keys below
  // `keys`.
  template <typename Key, typename Value>
  Lists(size_t keys, size_t n, Key key, Value value) : first_(keys + 1, 0), values_(n) {
    for (size_t i = 0; i < n; ++i) ++first_[key(i) + 1];
    for (size_t k = 0; k < keys; ++k) first_[k + 1] += first_[k];
    std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
    for (size_t i = 0; i < n; ++i) values_[next[key(i)]++] = static_cast<uint32_t>(value(i));
  }
  std::span<const uint32_t> operator[](size_t key) const {
    return std::span(values_).subspan(first_[key], first_[key + 1] - first_[key]);
  }
  std::span<uint32_t> operator[](size_t key) {
    return std::span(values_).subspan(first_[key], first_[key + 1] - first_[key]);
  }
  size_t keys() const { return first_.empty() ? 0 : first_.size() - 1; }

 private:
  std::vector<uint32_t> first_, values_;
};

// An edge that points down the rows.
struct DownEdge {
  uint32_t from = 0, to = 0;
  float weight = 1;
};

// By edge: true where it has to be turned round so that no cycle remains (loops count as not
// turned).
std::vector<bool> BackEdges(size_t nodes, std::span<const FlatEdge> edges);

// The row of every node: every edge leads down, pinned nodes stand first and last, and the weighted
// sum of rows that edges span is small.
std::vector<uint32_t> Rank(std::span<const FlatNode> nodes, std::span<const DownEdge> all);

// Moves rows so that the weighted sum of spans is least; `row` must be sound before. For small
// graphs: time grows with the square of their size.
void ShortenBySimplex(std::span<const DownEdge> edges, std::vector<uint32_t>& row);

// A step of an edge from one row to the next.
struct Segment {
  uint32_t from = 0, to = 0;
};

// Items in rows, and the segments between rows that are next to one another.
struct Rows {
  uint32_t node_count = 0;  // items from here on are bends
  std::vector<uint32_t> row;
  std::vector<std::vector<uint32_t>> items;  // by row, from left to right
  std::vector<uint32_t> position;            // of an item in its row
  Lists above, below;                        // neighbours of an item
};

// Crossings of all segments.
int64_t CountCrossings(const Rows& rows);

// Puts the items of every row into an order with few crossings and returns how many are left.
int64_t Order(Rows& rows, const LayoutOptions& options);

}  // namespace hloscope::graph
