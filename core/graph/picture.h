// A graph that is opened and closed in place: each open group is laid out by itself and stands as a
// frame in the picture of the group around it.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/graph/labels.h"
#include "core/graph/layout.h"
#include "core/graph/tree.h"

namespace hloscope::graph {

struct Box {
  NodeId node;
  float x = 0, y = 0, width = 0, height = 0;  // of the upper left corner
  bool open = false;                          // a frame around the boxes of its children
  uint32_t count = 0;  // of a group: how many of its instructions are meant; 0: all
};

// What is drawn between two boxes of one open group, or between one of them and the frame's border.
struct Wire {
  NodeId from, to;  // invalid: many nodes outside the frame
  uint32_t first_point = 0, point_count = 0;
  int64_t bytes = 0;
  uint32_t edges = 0;     // of instructions that it stands for
  bool reversed = false;  // closes a cycle between groups
  bool jump = false;      // not drawn as a line: a label at either end leads to the other
};

struct Picture {
  float width = 0, height = 0;
  float node_height = kNodeHeight;  // of a closed box
  std::vector<Box> boxes;           // frames before what is in them
  std::vector<Wire> wires;
  std::vector<Point> points;
  std::unordered_map<uint32_t, uint32_t> box_of_node;  // by NodeId

  const Box* Find(NodeId id) const {
    auto at = box_of_node.find(id.index);
    return at == box_of_node.end() ? nullptr : &boxes[at->second];
  }
};

inline constexpr float kFrameTitle = 26, kFramePadding = 14;

// Where the children of a group stood in another picture, by their keys: what an order starts from.
using Anchors = std::unordered_map<uint64_t, float>;

class FoldableGraph {
 public:
  explicit FoldableGraph(Tree tree, const LayoutOptions& options = {})
      : tree_(std::move(tree)), options_(options) {
    is_open_.assign(tree_.size(), false);
    is_open_[0] = true;
  }

  const Tree& tree() const { return tree_; }
  bool IsOpen(NodeId id) const { return id.index < is_open_.size() && is_open_[id.index]; }
  // True if anything changed; what cannot be opened stays closed, the root stays open.
  bool Open(NodeId id);
  // Makes what is inside a call, which stays closed.
  void Expand(NodeId id) { tree_.Expand(id); }
  bool Close(NodeId id);
  // Opens all groups around the node, so that it has a box; false where it is not in the tree.
  bool Reveal(NodeId id);
  // The node that stands for an instruction or group in the picture as it is.
  NodeId Visible(NodeId id) const {
    return tree_.Visible(id, [this](NodeId up) { return IsOpen(up); });
  }
  void SetAnchors(Anchors anchors) { anchors_ = std::move(anchors); }
  Anchors MakeAnchors() const;
  // Rows are found anew where a pane of that width has room for more boxes side by side, or fewer.
  void SetPaneWidth(float width);
  float row_width() const { return options_.row_width; }
  // Rows of what is not inside an open group stand further apart, as far as the options allow,
  // until the picture is that high.
  void SetLeastHeight(float height);
  // Finds rows and order anew, as after SetAnchors.
  void Rearrange() {
    levels_.clear();
    stale_ = true;
  }

  // The picture of what is open; laid out again only where something was opened or closed.
  const Picture& picture();
  // Grows whenever the picture changes.
  uint64_t version() const { return version_; }

 private:
  struct LevelEdge {
    uint32_t from = 0, to = 0, count = 0;
    int64_t bytes = 0;
  };
  // The graph inside an open group: its children, then a port for each node outside that is read
  // (in) or that reads (out).
  struct Level {
    std::vector<NodeId> items;
    uint32_t children = 0, ins = 0;
    std::vector<LevelEdge> edges;
    std::vector<FlatNode> sizes;
    std::vector<FlatEdge> flat_edges;
    Arrangement arrangement;
    FlatLayout layout;
    float width = 0, height = 0;
  };
  friend class LevelBuilder;

  void Refresh();
  std::vector<NodeId> OpenNodes() const;
  void Arrange(Level& level);
  FlatNode SizeOfBox(NodeId id) const;
  void PlaceLevel(Level& level, float least_height);
  float PortOffset(NodeId inner, NodeId outside, bool in) const;
  void Compose();
  void EmitWires(const Level& level, Point corner, float frame_top, float frame_bottom, bool root);

  Tree tree_;
  LayoutOptions options_;
  float least_height_ = 0;
  std::vector<bool> is_open_;
  std::unordered_map<uint32_t, Level> levels_;  // by NodeId; kept when a group is closed
  Anchors anchors_;
  std::vector<uint32_t> child_of_leaf_;  // of LevelBuilder
  Picture picture_;
  bool stale_ = true;
  uint64_t version_ = 0;
};

}  // namespace hloscope::graph
