// Layered layout of a directed graph whose nodes have sizes: rows from sources to sinks, few
// crossings, short edges. Knows nothing of HLO and of drawing.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace hloscope::graph {

struct Point {
  float x = 0, y = 0;
  bool operator==(const Point&) const = default;
};

// Where a node must stand: ports of an open group lie on its upper or lower border.
enum class RowPin : uint8_t { kFree, kTop, kBottom };

struct FlatNode {
  float width = 0, height = 0;
  RowPin pin = RowPin::kFree;
};

struct FlatEdge {
  uint32_t from = 0, to = 0;
  float weight = 1;    // how much its length counts
  bool minor = false;  // never routed over more than one row: plumbing such as a result tuple
};

// Where an edge meets its nodes, from their centres to the right.
struct EdgeEnds {
  float from = 0, to = 0;
};

struct LayoutOptions {
  // Edges over more rows than this are not routed: they become jumps, which are drawn as a label at
  // either end.
  int max_span = 16;
  // Every edge is routed as long as all bends together are no more than this many for each node.
  int free_bends = 8;
  int sweeps = 8;              // of ordering, each down and up
  int placing_sweeps = 6;      // of the horizontal fit
  int large = 60000;           // items from which on a half or a third of the sweeps has to do
  int exchange_limit = 20000;  // items up to which neighbours are exchanged one by one
  float node_gap = 18, row_gap = 40;
  // Rows stand further apart, up to `most_row_gap`, until the picture is that high.
  float least_height = 0, most_row_gap = 0;
  float line_height = 0;  // of nodes with one line of text; 0: with two
  // Rows of nodes are no wider; 0: as the proportion needs.
  float row_width = 0;
  double gravity = 0;  // how much every node is drawn to the middle; an edge counts 1
  // Width by height of what the picture is fitted to: rows that are too wide for it are split, down
  // to `least_split`.
  float proportion = 0.8f, least_split = 500;
};

// What a picture in a pane of that width, in logical pixels, is laid out with: boxes of one line
// in rows that have room for as many as the width is times 130 pixels. Few rows may be about
// two boxes apart: further, and the eye loses what belongs together.
inline LayoutOptions ForPane(float width) {
  constexpr float kEach = 130, kGap = 8;
  LayoutOptions options;
  options.line_height = 22;
  options.node_gap = kGap;
  options.row_gap = 12;
  options.most_row_gap = 50;
  options.row_width = std::max(1.0f, std::floor(width / kEach)) * kEach;
  // Lines beside the boxes take room from them.
  options.free_bends = 2;
  options.max_span = 8;
  options.gravity = 0.6;
  return options;
}

// Rows and the order in them. Depends on the graph alone, never on sizes: a node that grows,
// because its group was opened, moves nothing else out of order.
struct Arrangement {
  uint32_t node_count = 0;
  std::vector<uint32_t> row;                   // of every item: nodes, then bends of long edges
  std::vector<uint32_t> row_first, row_items;  // items by row, from left to right
  std::vector<uint32_t> edge_first_item;       // first bend of an edge; bends of one edge follow on
  std::vector<uint32_t> edge_bends;            // how many
  std::vector<bool> reversed;                  // by edge: drawn against the rows, closes a cycle
  std::vector<bool> jump;                      // by edge: not routed
  int64_t crossings = 0;                       // of routed segments
  uint32_t row_count() const {
    return row_first.empty() ? 0 : static_cast<uint32_t>(row_first.size() - 1);
  }
};

// Rows and order for the graph. `wanted`, where not empty, gives each node a horizontal position of
// an earlier picture that the order starts from (NaN: none). Ends of edges must be nodes.
Arrangement Arrange(std::span<const FlatNode> nodes, std::span<const FlatEdge> edges,
                    const LayoutOptions& options, std::span<const float> wanted = {});

struct FlatLayout {
  std::vector<Point> center;                       // of every node
  std::vector<uint32_t> first_point, point_count;  // by edge; jumps and loops have none
  std::vector<Point> points;  // from the lower border of `from` to the upper border of `to`
  float width = 0, height = 0;
};

// Coordinates for an arrangement of the same graph; the picture begins at (0, 0).
FlatLayout Place(const Arrangement& arrangement, std::span<const FlatNode> nodes,
                 std::span<const FlatEdge> edges, std::span<const EdgeEnds> ends,
                 const LayoutOptions& options);

}  // namespace hloscope::graph
