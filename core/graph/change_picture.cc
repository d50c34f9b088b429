// One layout of what two stages have together, drawn once for each.
#include "core/graph/change_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/base/counted.h"
#include "core/graph/labels.h"
#include "core/graph/layout.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::graph {
namespace {

using hlo::InstructionId;

class ChangeLayout {
 public:
  ChangeLayout(const ChangeGraph& graph, const ChangePart& part, const Anchors& anchors)
      : graph_(graph), part_(part), anchors_(anchors), shown_(ShownNodes(graph, part)) {}

  ChangePicture Run() {
    FindBoxes();
    FindEdges();
    for (size_t k = frames_.size(); k-- > 0;) PlaceFrame(frames_[k]);
    PlaceFrame(root());
    Compose();
    Count();
    return std::move(out_);
  }

 private:
  struct Edge {
    NodeId from, to;     // boxes
    uint8_t sides = 0;   // a bit for each that has it
    uint32_t count = 0;  // operands that it stands for
    int64_t bytes = 0;
  };
  // What is inside one frame.
  struct Level {
    std::vector<NodeId> items;
    std::vector<uint32_t> edges;  // positions in edges_
    Arrangement arrangement;
    FlatLayout layout;
  };
  struct Size {
    float width = 0, height = 0;
  };

  uint32_t root() const { return static_cast<uint32_t>(graph_.size()); }
  uint32_t LevelOf(NodeId frame) const { return frame.valid() ? frame.index : root(); }

  // Open at first: where something inside changed.
  bool IsOpen(NodeId id) const {
    const bool is_toggled = std::ranges::binary_search(part_.toggled, id.index);
    return (graph_.changed_inside(id) > 0) != is_toggled && HoldsShown(graph_.children(id));
  }
  bool HoldsShown(std::span<const NodeId> inside) const {
    return std::ranges::any_of(inside, [&](NodeId id) { return shown_[id.index]; });
  }

  // By depth: what stands around a node comes before it.
  void FindBoxes() {
    std::vector<NodeId> order;
    for (uint32_t n = 0; n < graph_.size(); ++n) {
      if (shown_[n]) order.push_back(NodeId(n));
    }
    std::ranges::stable_sort(order, {}, [&](NodeId id) { return graph_[id].depth; });
    box_of_.resize(graph_.size());
    is_open_.assign(graph_.size(), false);
    is_standing_in_.assign(graph_.size(), 0);
    levels_[root()];
    for (NodeId id : order) {
      const NodeId parent = graph_[id].parent;
      if (parent.valid() && !is_open_[parent.index]) {
        box_of_[id.index] = box_of_[parent.index];
        for (Side side : kSides) {
          if (graph_[id][side].valid())
            is_standing_in_[box_of_[id.index].index] |= uint8_t(1u << IndexOf(side));
        }
        continue;
      }
      box_of_[id.index] = id;
      levels_.at(LevelOf(parent)).items.push_back(id);
      if (!IsOpen(id)) continue;
      is_open_[id.index] = true;
      frames_.push_back(id.index);
      levels_[id.index];
    }
  }

  // The parameter of a called computation that an operand goes to; invalid where it is not drawn.
  NodeId ParameterOf(Side side, NodeId call, size_t operand) {
    const hlo::Module& m = graph_.module(side);
    const InstructionId id = graph_[call][side];
    auto [at, is_new] = parameters_[IndexOf(side)].try_emplace(call.index);
    if (is_new) {
      const auto called = m.CalledComputations(m[id]);
      if (called.size() == 1 && hlo::HasTrait(m[id].opcode, hlo::kTraitRunsBody))
        at->second = m.Parameters(called.front());
    }
    if (operand >= at->second.size()) return NodeId();
    const NodeId inside = graph_.NodeOf(side, at->second[operand]);
    return inside.valid() && box_of_[inside.index] == inside ? inside : NodeId();
  }

  bool IsAround(NodeId outer, NodeId inner) const {
    while (inner.valid() && graph_[inner].depth > graph_[outer].depth) inner = graph_[inner].parent;
    return inner == outer;
  }

  void FindEdges() {
    for (uint32_t n = 0; n < graph_.size(); ++n) {
      if (!shown_[n]) continue;
      for (Side side : kSides) {
        if (graph_[NodeId(n)][side].valid()) AddEdges(side, NodeId(n));
      }
    }
    std::ranges::sort(edges_, [](const Edge& a, const Edge& b) {
      return a.to != b.to ? a.to < b.to : a.from != b.from ? a.from < b.from : a.sides < b.sides;
    });
    std::vector<Edge> merged;
    for (const Edge& edge : edges_) {
      if (merged.empty() || merged.back().from != edge.from || merged.back().to != edge.to) {
        merged.push_back(edge);
        continue;
      }
      merged.back().sides |= edge.sides;
      merged.back().count += edge.count;
      merged.back().bytes = std::max(merged.back().bytes, edge.bytes);
    }
    edges_.swap(merged);
    for (uint32_t e = 0; e < edges_.size(); ++e) {
      const auto [from, to] = BesideEachOther(edges_[e].from, edges_[e].to);
      levels_.at(LevelOf(graph_[from].parent)).edges.push_back(e);
    }
  }

  void AddEdges(Side side, NodeId to) {
    const hlo::Module& m = graph_.module(side);
    const auto operands = m.operands(graph_[to][side]);
    for (size_t k = 0; k < operands.size(); ++k) {
      const NodeId source = graph_.NodeOf(side, operands[k]);
      if (!source.valid() || !shown_[source.index]) continue;
      const NodeId from = box_of_[source.index];
      NodeId end = box_of_[to.index];
      if (is_open_[end.index]) {
        if (const NodeId inside = ParameterOf(side, end, k); inside.valid()) end = inside;
      }
      if (from == end || IsAround(from, end) || IsAround(end, from)) continue;
      const int64_t bytes = std::max<int64_t>(0, m.shape(operands[k]).ByteSize().value_or(0));
      edges_.push_back({from, end, uint8_t(1u << IndexOf(side)), 1, bytes});
    }
  }

  // The two frames, or the boxes themselves, that stand in the innermost frame around both.
  std::pair<NodeId, NodeId> BesideEachOther(NodeId a, NodeId b) const {
    while (graph_[a].depth > graph_[b].depth) a = graph_[a].parent;
    while (graph_[b].depth > graph_[a].depth) b = graph_[b].parent;
    while (graph_[a].parent != graph_[b].parent) {
      a = graph_[a].parent;
      b = graph_[b].parent;
    }
    return {a, b};
  }

  bool HasBox(Side side, NodeId id) const {
    return graph_[id][side].valid() || (is_standing_in_[id.index] >> IndexOf(side) & 1u) != 0;
  }
  bool IsClosedFrame(NodeId id) const {
    return !is_open_[id.index] && !graph_.children(id).empty();
  }

  Size SizeOfBox(NodeId id) const {
    if (is_open_[id.index]) return sizes_.at(id.index);
    Size size{0, kNodeHeight};
    for (Side side : kSides) {
      if (!HasBox(side, id)) continue;
      size.width = std::max(size.width, SizeOf(TextOf(graph_, side, id, IsClosedFrame(id))).width);
    }
    return size;
  }

  // From the middle of the frame `outer` to that of a box somewhere inside, to the right.
  float Offset(NodeId outer, NodeId inner) const {
    float offset = 0;
    while (inner != outer) {
      const NodeId frame = graph_[inner].parent;
      const Level& level = levels_.at(frame.index);
      offset += level.layout.center[position_.at(inner.index)].x + kFramePadding -
                sizes_.at(frame.index).width / 2;
      inner = frame;
    }
    return offset;
  }

  void PlaceFrame(uint32_t frame) {
    Level& level = levels_.at(frame);
    std::vector<FlatNode> nodes;
    std::vector<float> wanted;
    for (uint32_t k = 0; k < level.items.size(); ++k) {
      const Size size = SizeOfBox(level.items[k]);
      position_[level.items[k].index] = k;
      nodes.push_back({size.width, size.height, RowPin::kFree});
      if (anchors_.empty()) continue;
      const auto at = anchors_.find(KeyOf(graph_, level.items[k]));
      wanted.push_back(at == anchors_.end() ? std::numeric_limits<float>::quiet_NaN() : at->second);
    }
    std::vector<FlatEdge> edges;
    std::vector<EdgeEnds> ends;
    for (uint32_t e : level.edges) {
      const auto [from, to] = BesideEachOther(edges_[e].from, edges_[e].to);
      edges.push_back({position_.at(from.index), position_.at(to.index)});
      ends.push_back({Offset(from, edges_[e].from), Offset(to, edges_[e].to)});
    }
    level.arrangement = Arrange(nodes, edges, options_, wanted);
    level.layout = Place(level.arrangement, nodes, edges, ends, options_);
    for (uint32_t k = 0; k < level.items.size(); ++k) {
      const uint64_t key = KeyOf(graph_, level.items[k]);
      out_.anchors[key] = level.layout.center[k].x;
      out_.by_key[key] = level.items[k];
    }
    sizes_[frame] = {level.layout.width + 2 * kFramePadding,
                     level.layout.height + kFrameTitle + kFramePadding};
  }

  // Frames before what is in them: both are in the order of depths.
  void Compose() {
    for (Picture& picture : out_.of) {
      picture.width = levels_.at(root()).layout.width;
      picture.height = levels_.at(root()).layout.height;
    }
    ComposeLevel(root(), {0, 0});
    for (uint32_t frame : frames_) {
      const Box& box = boxes_.at(frame);
      ComposeLevel(frame, {box.x + kFramePadding, box.y + kFrameTitle});
    }
    ComposeWires(root(), {0, 0});
    for (uint32_t frame : frames_) {
      const Box& box = boxes_.at(frame);
      ComposeWires(frame, {box.x + kFramePadding, box.y + kFrameTitle});
    }
  }

  void ComposeLevel(uint32_t frame, Point corner) {
    const Level& level = levels_.at(frame);
    for (uint32_t k = 0; k < level.items.size(); ++k) {
      const NodeId id = level.items[k];
      const Size size = SizeOfBox(id);
      const Point center = level.layout.center[k];
      const Box box{id,
                    corner.x + center.x - size.width / 2,
                    corner.y + center.y - size.height / 2,
                    size.width,
                    size.height,
                    is_open_[id.index]};
      boxes_[id.index] = box;
      for (Side side : kSides) {
        Picture& picture = out_.of[IndexOf(side)];
        if (!HasBox(side, id)) {
          out_.ghosts[IndexOf(side)].push_back(box);
          continue;
        }
        picture.box_of_node[id.index] = static_cast<uint32_t>(picture.boxes.size());
        picture.boxes.push_back(box);
      }
    }
  }

  void ComposeWires(uint32_t frame, Point corner) {
    const Level& level = levels_.at(frame);
    for (size_t k = 0; k < level.edges.size(); ++k) {
      const Edge& edge = edges_[level.edges[k]];
      std::vector<Point> points;
      for (uint32_t p = 0; p < level.layout.point_count[k]; ++p) {
        const Point at = level.layout.points[level.layout.first_point[k] + p];
        points.push_back({corner.x + at.x, corner.y + at.y});
      }
      const bool is_reversed = level.arrangement.reversed[k];
      // Through the borders of frames to the boxes themselves.
      if (!points.empty() && !is_reversed) {
        const Box &from = boxes_.at(edge.from.index), &to = boxes_.at(edge.to.index);
        if (from.y + from.height < points.front().y - 1)
          points.insert(points.begin(), {from.x + from.width / 2, from.y + from.height});
        if (to.y > points.back().y + 1) points.push_back({to.x + to.width / 2, to.y});
      }
      for (Side side : kSides) {
        if ((edge.sides >> IndexOf(side) & 1u) == 0) continue;
        Picture& picture = out_.of[IndexOf(side)];
        picture.wires.push_back({edge.from, edge.to, static_cast<uint32_t>(picture.points.size()),
                                 static_cast<uint32_t>(points.size()), edge.bytes, edge.count,
                                 is_reversed, level.arrangement.jump[k]});
        picture.points.insert(picture.points.end(), points.begin(), points.end());
        out_.is_wire_changed[IndexOf(side)].push_back(edge.sides != 3);
      }
    }
  }

  void Count() {
    for (uint32_t n = 0; n < graph_.size(); ++n) {
      if (graph_.Counted(NodeId(n)) != NodeId(n)) continue;
      const bool changed = graph_[NodeId(n)].changed();
      if (shown_[n]) {
        out_.changes += changed;
      } else {
        out_.hidden += !changed && !IsInClosed(NodeId(n));
      }
    }
  }
  bool IsInClosed(NodeId id) const {
    NodeId up = graph_[id].parent;
    while (up.valid() && !shown_[up.index]) up = graph_[up].parent;
    return up.valid() && !is_open_[up.index];
  }

  const ChangeGraph& graph_;
  const ChangePart& part_;
  const Anchors& anchors_;
  const LayoutOptions options_;
  std::vector<bool> shown_, is_open_;
  std::vector<NodeId> box_of_;           // by node: itself, or the closed frame it is in
  std::vector<uint8_t> is_standing_in_;  // by node: for what of which sides
  std::vector<uint32_t> frames_;         // open, outer before inner
  std::vector<Edge> edges_;
  std::unordered_map<uint32_t, Level> levels_;
  std::unordered_map<uint32_t, Size> sizes_;         // of open frames
  std::unordered_map<uint32_t, uint32_t> position_;  // of a box in its level
  std::unordered_map<uint32_t, Box> boxes_;
  std::array<std::unordered_map<uint32_t, std::vector<InstructionId>>, 2> parameters_;
  ChangePicture out_;
};

}  // namespace

ChangePicture LayOut(const ChangeGraph& graph, const ChangePart& part, const Anchors& anchors) {
  return ChangeLayout(graph, part, anchors).Run();
}

NodeText TextOf(const ChangeGraph& graph, Side side, NodeId id, bool is_closed_frame) {
  const ChangeNode& node = graph[id];
  if (!node[side].valid()) {
    const Side other = OtherSide(side);
    return {Elide((side == Side::kBefore ? "for " : "from ") +
                      std::string(graph.module(other).name(node[other])),
                  kTitleColumns),
            Counted(graph.children(id).size(), "instruction")};
  }
  NodeText text = TextOf(graph.module(side), node[side]);
  if (is_closed_frame && graph.changed_inside(id) > 0)
    text.subtitle = fmt::format("{} changed inside", graph.changed_inside(id));
  return text;
}

uint64_t KeyOf(const ChangeGraph& graph, NodeId id) {
  const Side side = graph[id][Side::kAfter].valid() ? Side::kAfter : Side::kBefore;
  return hlo::HashBytes(graph.module(side).name(graph[id][side]));
}

}  // namespace hloscope::graph
