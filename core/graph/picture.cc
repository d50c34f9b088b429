// Opening, closing and composing the layouts of open groups.
#include "core/graph/picture.h"

#include <algorithm>
#include <limits>

#include "core/graph/level_builder.h"
#include "core/graph/widening.h"

namespace hloscope::graph {
namespace {

constexpr float kPortWidth = 8;
// A tuple of more parts than this gathers results only: its edges are not worth a way of their own.
constexpr uint32_t kManyOperands = 12;
// More boxes than these are never drawn so large that they have text.
constexpr size_t kMaxWidened = 2000;
constexpr float kMinScale = 0.375f;  // to which a pane squeezes a picture across

// What the two lines of a box need in a pane, in logical pixels: texts are not drawn smaller.
float NeededWidth(const NodeText& text) {
  constexpr float kText = 11, kBesideText = 24;
  constexpr size_t kMaxSubtitle = 24;
  const size_t columns =
      std::max(Columns(text.title), std::min(Columns(text.subtitle), kMaxSubtitle));
  return (static_cast<float>(columns) + 0.5f) * kText * kCharacterWidth + kBesideText;
}

}  // namespace

bool FoldableGraph::Open(NodeId id) {
  if (IsOpen(id) || !tree_.CanOpen(id)) return false;
  tree_.Expand(id);
  if (tree_[id].child_count == 0) return false;
  is_open_.resize(tree_.size(), false);
  is_open_[id.index] = true;
  stale_ = true;
  return true;
}

bool FoldableGraph::Close(NodeId id) {
  if (!IsOpen(id) || id == tree_.root()) return false;
  is_open_[id.index] = false;
  stale_ = true;
  return true;
}

bool FoldableGraph::Reveal(NodeId id) {
  if (!id.valid() || (id != tree_.root() && !tree_[id].parent.valid())) return false;
  for (NodeId up = tree_[id].parent; up.valid(); up = tree_[up].parent) Open(up);
  return true;
}

const Picture& FoldableGraph::picture() {
  if (stale_) Refresh();
  return picture_;
}

Anchors FoldableGraph::MakeAnchors() const {
  Anchors anchors;
  for (const auto& [group, level] : levels_) {
    for (uint32_t k = 0; k < level.children && k < level.layout.center.size(); ++k)
      anchors[tree_[level.items[k]].key] = level.layout.center[k].x;
  }
  return anchors;
}

// Open nodes that have a frame: all around them are open too. Frames before what is in them.
std::vector<NodeId> FoldableGraph::OpenNodes() const {
  std::vector<NodeId> open(1, tree_.root());
  for (size_t k = 0; k < open.size(); ++k) {
    for (NodeId child : tree_.children(open[k])) {
      if (IsOpen(child)) open.push_back(child);
    }
  }
  return open;
}

void FoldableGraph::Refresh() {
  stale_ = false;
  ++version_;
  std::vector<NodeId> open = OpenNodes();
  for (NodeId id : open) {
    auto [at, added] = levels_.try_emplace(id.index);
    if (!added) continue;
    at->second = LevelBuilder(tree_, child_of_leaf_).Build(id);
    Arrange(at->second);
  }
  for (auto id = open.rbegin(); id != open.rend(); ++id)
    PlaceLevel(levels_.at(id->index), *id == tree_.root() ? least_height_ : 0);
  Compose();
}

void FoldableGraph::SetPaneWidth(float width) {
  const LayoutOptions wanted = ForPane(width);
  if (wanted.row_width == options_.row_width) return;
  options_ = wanted;
  // What stood on the left stays there.
  if (anchors_.empty()) anchors_ = MakeAnchors();
  for (auto& [group, level] : levels_) Arrange(level);
  stale_ = true;
}

// Not laid out again where the picture is higher than either anyway.
void FoldableGraph::SetLeastHeight(float height) {
  constexpr float kRounding = 1;
  stale_ |=
      picture_.height < std::max(height, least_height_ + kRounding) && height != least_height_;
  least_height_ = height;
}

// Rows and order, once: opening something inside changes sizes only.
void FoldableGraph::Arrange(Level& level) {
  level.flat_edges.clear();
  std::vector<uint32_t> operands(level.items.size(), 0);
  for (const LevelEdge& e : level.edges) ++operands[e.to];
  auto gathers = [&](uint32_t item) {
    const Node* node = item < level.children ? &tree_[level.items[item]] : nullptr;
    return operands[item] > kManyOperands && node != nullptr &&
           node->kind == NodeKind::kInstruction &&
           tree_.module()[node->instruction].opcode == hlo::Opcode::kTuple;
  };
  for (const LevelEdge& e : level.edges) {
    const bool minor = gathers(e.to);
    level.flat_edges.push_back({e.from, e.to, minor ? 0.02f : 1.0f, minor});
  }
  level.sizes.resize(level.items.size());
  std::vector<float> wanted;
  for (uint32_t k = 0; k < level.items.size(); ++k) {
    level.sizes[k] = {kPortWidth, 0, RowPin::kTop};
    if (k >= level.children + level.ins) level.sizes[k].pin = RowPin::kBottom;
    if (k < level.children) level.sizes[k] = SizeOfBox(level.items[k]);
    if (anchors_.empty()) continue;
    auto at = k < level.children ? anchors_.find(tree_[level.items[k]].key) : anchors_.end();
    wanted.push_back(at == anchors_.end() ? std::numeric_limits<float>::quiet_NaN() : at->second);
  }
  level.arrangement = graph::Arrange(level.sizes, level.flat_edges, options_, wanted);
}

// No wider than a row, whatever its name.
FlatNode FoldableGraph::SizeOfBox(NodeId id) const {
  const NodeText text = TextOf(tree_, id);
  if (options_.line_height == 0) return SizeOf(text);
  return {std::min(LineWidth(text.title), options_.row_width), options_.line_height};
}

// Where the wire of an open frame from (or to) an outside node goes on inside, from its centre.
float FoldableGraph::PortOffset(NodeId inner, NodeId outside, bool in) const {
  if (!IsOpen(inner)) return 0;
  auto at = levels_.find(inner.index);
  if (at == levels_.end()) return 0;
  const Level& level = at->second;
  const uint32_t begin = level.children + (in ? 0 : level.ins);
  const auto end = in ? level.children + level.ins : static_cast<uint32_t>(level.items.size());
  for (uint32_t k = begin; k < end; ++k) {
    if (level.items[k] == outside || !level.items[k].valid())
      return level.layout.center[k].x + kFramePadding - level.width / 2;
  }
  return 0;
}

void FoldableGraph::PlaceLevel(Level& level, float least_height) {
  std::vector<FlatNode> sizes = level.sizes;
  for (uint32_t k = 0; k < level.children; ++k) {
    if (!IsOpen(level.items[k])) continue;
    const Level& inside = levels_.at(level.items[k].index);
    sizes[k].width = inside.width;
    sizes[k].height = inside.height;
  }
  std::vector<EdgeEnds> ends(level.edges.size());
  for (size_t e = 0; e < level.edges.size(); ++e) {
    const LevelEdge& edge = level.edges[e];
    if (edge.from < level.children)
      ends[e].from = PortOffset(level.items[edge.from], level.items[edge.to], false);
    if (edge.to < level.children)
      ends[e].to = PortOffset(level.items[edge.to], level.items[edge.from], true);
  }
  LayoutOptions options = options_;
  options.least_height = least_height;
  level.layout = Place(level.arrangement, sizes, level.flat_edges, ends, options);
  level.width = level.layout.width + 2 * kFramePadding;
  level.height = level.layout.height + kFrameTitle + kFramePadding;
}

void FoldableGraph::Compose() {
  picture_ = Picture();
  const Level& root = levels_.at(tree_.root().index);
  picture_.width = root.layout.width;
  picture_.height = root.layout.height;
  if (options_.line_height > 0) picture_.node_height = options_.line_height;
  const float scale = std::max(options_.row_width / std::max(root.layout.width, 1.0f), kMinScale);
  const auto widened = [&](const Level& level) {
    std::vector<float> wanted;
    std::vector<FlatNode> sizes = level.sizes;
    for (uint32_t c = 0; c < level.children; ++c) {
      const bool open = IsOpen(level.items[c]);
      if (open) sizes[c].width = levels_.at(level.items[c].index).width;
      wanted.push_back(open ? 0 : NeededWidth(TextOf(tree_, level.items[c])) / scale);
    }
    return Widened(level.layout, sizes, wanted, options_.node_gap);
  };
  // Groups whose frames are placed, and the corners of what is inside.
  struct Frame {
    NodeId group;
    Point corner;
    float top, bottom;
  };
  std::vector<Frame> frames(1, {tree_.root(), {0, 0}, 0, root.layout.height});
  for (size_t k = 0; k < frames.size(); ++k) {
    const Frame frame = frames[k];
    const Level& level = levels_.at(frame.group.index);
    const bool is_widened = options_.row_width > 0 && level.children <= kMaxWidened;
    const std::vector<Extent> extents = is_widened ? widened(level) : std::vector<Extent>();
    for (uint32_t c = 0; c < level.children; ++c) {
      const NodeId id = level.items[c];
      const bool open = IsOpen(id);
      const Level* inside = open ? &levels_.at(id.index) : nullptr;
      const float own_width = open ? inside->width : level.sizes[c].width;
      const float height = open ? inside->height : level.sizes[c].height;
      const Point center = level.layout.center[c];
      const float left = is_widened ? extents[c].left : center.x - own_width / 2;
      const float width = is_widened ? extents[c].right - left : own_width;
      const Box box{
          id, frame.corner.x + left, frame.corner.y + center.y - height / 2, width, height, open};
      picture_.box_of_node[id.index] = static_cast<uint32_t>(picture_.boxes.size());
      picture_.boxes.push_back(box);
      if (open)
        frames.push_back({id, {box.x + kFramePadding, box.y + kFrameTitle}, box.y, box.y + height});
    }
    EmitWires(level, frame.corner, frame.top, frame.bottom, k == 0);
  }
}

void FoldableGraph::EmitWires(const Level& level, Point corner, float frame_top, float frame_bottom,
                              bool root) {
  for (size_t e = 0; e < level.edges.size(); ++e) {
    const LevelEdge& edge = level.edges[e];
    Wire wire{level.items[edge.from],
              level.items[edge.to],
              static_cast<uint32_t>(picture_.points.size()),
              0,
              edge.bytes,
              edge.count,
              level.arrangement.reversed[e],
              level.arrangement.jump[e]};
    const uint32_t count = level.layout.point_count[e];
    const bool from_port = !root && edge.from >= level.children && count > 0;
    const bool to_port = !root && edge.to >= level.children && count > 0;
    for (uint32_t k = 0; k < count; ++k) {
      const Point p = level.layout.points[level.layout.first_point[e] + k];
      const Point at{corner.x + p.x, corner.y + p.y};
      if (k == 0 && from_port) picture_.points.push_back({at.x, frame_top});
      picture_.points.push_back(at);
      if (k + 1 == count && to_port) picture_.points.push_back({at.x, frame_bottom});
    }
    wire.point_count = static_cast<uint32_t>(picture_.points.size()) - wire.first_point;
    picture_.wires.push_back(wire);
  }
}

}  // namespace hloscope::graph
