// The graph inside one open group.
#include "core/graph/level_builder.h"

#include <algorithm>

namespace hloscope::graph {
namespace {

// Ports of more outside nodes than this are drawn as one.
constexpr size_t kMaxPorts = 20;
// Items are numbered children first; ports get their final numbers when all are known.
constexpr uint32_t kInPort = 0x4000'0000, kOutPort = 0x8000'0000, kPortNumber = 0x3fff'ffff;

}  // namespace

FoldableGraph::Level LevelBuilder::Build(NodeId group) {
  FoldableGraph::Level level;
  auto children = tree_.children(group);
  level.items.assign(children.begin(), children.end());
  level.children = static_cast<uint32_t>(children.size());
  MarkLeaves(group);
  FindEdges(group);
  MergePorts();
  level.ins = static_cast<uint32_t>(ins_.size());
  level.items.insert(level.items.end(), ins_.begin(), ins_.end());
  level.items.insert(level.items.end(), outs_.begin(), outs_.end());
  for (Found& f : found_) {
    for (uint32_t* end : {&f.from, &f.to}) {
      if (*end & kInPort) *end = level.children + (*end & kPortNumber);
      if (*end & kOutPort) *end = level.children + level.ins + (*end & kPortNumber);
    }
  }
  MergeEdges(level);
  for (NodeId leaf : leaves_) child_of_leaf_[leaf.index] = kNoChild;
  return level;
}

void LevelBuilder::MarkLeaves(NodeId group) {
  child_of_leaf_.resize(tree_.size(), kNoChild);
  auto children = tree_.children(group);
  std::vector<NodeId> open;
  for (uint32_t k = 0; k < children.size(); ++k) {
    open.assign(1, children[k]);
    while (!open.empty()) {
      NodeId id = open.back();
      open.pop_back();
      if (tree_[id].kind == NodeKind::kInstruction) {
        leaves_.push_back(id);
        child_of_leaf_[id.index] = k;
        continue;
      }
      auto inside = tree_.children(id);
      open.insert(open.end(), inside.begin(), inside.end());
    }
  }
  SortLeaves();
}

// Those of a large group stand close together: looking at all nodes between is quicker.
void LevelBuilder::SortLeaves() {
  if (leaves_.empty()) return;
  const auto [first, last] = std::ranges::minmax(leaves_);
  if ((last.index - first.index) / 8 > leaves_.size()) {
    std::ranges::sort(leaves_);
    return;
  }
  leaves_.clear();
  for (uint32_t id = first.index; id <= last.index; ++id) {
    if (child_of_leaf_[id] != kNoChild) leaves_.push_back(NodeId(id));
  }
}

// The node that stands for `leaf` beside the group, or beside a group around it.
NodeId LevelBuilder::Outside(NodeId group, NodeId leaf) const {
  NodeId inner = group, outer = leaf;
  while (tree_[outer].depth > tree_[inner].depth) outer = tree_[outer].parent;
  while (tree_[inner].depth > tree_[outer].depth) inner = tree_[inner].parent;
  while (tree_[outer].parent != tree_[inner].parent) {
    outer = tree_[outer].parent;
    inner = tree_[inner].parent;
  }
  return outer;
}

uint32_t LevelBuilder::Port(NodeId outside, bool in) {
  auto& ports = in ? in_ports_ : out_ports_;
  auto& list = in ? ins_ : outs_;
  auto [at, added] = ports.try_emplace(outside.index, static_cast<uint32_t>(list.size()));
  if (added) list.push_back(outside);
  return at->second | (in ? kInPort : kOutPort);
}

void LevelBuilder::FindEdges(NodeId group) {
  std::vector<Tree::Source> others;
  const bool root = group == tree_.root();
  for (NodeId leaf : leaves_) {
    const uint32_t child = child_of_leaf_[leaf.index];
    others.clear();
    tree_.Sources(leaf, others);
    for (const Tree::Source& s : others) {
      const uint32_t from = child_of_leaf_[s.leaf.index];
      if (from == kNoChild) {
        if (!root) found_.push_back({Port(Outside(group, s.leaf), true), child, s.bytes});
      } else if (from != child) {
        found_.push_back({from, child, s.bytes});
      }
    }
    if (root) continue;
    others.clear();
    tree_.Sinks(leaf, others);
    for (const Tree::Source& s : others) {
      if (child_of_leaf_[s.leaf.index] == kNoChild)
        found_.push_back({child, Port(Outside(group, s.leaf), false), s.bytes});
    }
  }
}

// Where all that leads out begins at one child, it is one value, and leaves by one port.
bool LevelBuilder::OneSourceLeaves() const {
  uint32_t source = kOutPort;
  for (const Found& f : found_) {
    if (!(f.to & kOutPort)) continue;
    if (source != kOutPort && source != f.from) return false;
    source = f.from;
  }
  return source != kOutPort;
}

void LevelBuilder::MergePorts() {
  const bool one = OneSourceLeaves();
  for (bool in : {true, false}) {
    auto& list = in ? ins_ : outs_;
    if (list.size() <= kMaxPorts && (in || !one)) continue;
    if (list.size() <= 1) continue;
    list.assign(1, NodeId());
    for (Found& f : found_) {
      uint32_t& end = in ? f.from : f.to;
      const uint32_t flag = in ? kInPort : kOutPort;
      if (end & flag) end = flag;
    }
  }
}

void LevelBuilder::MergeEdges(FoldableGraph::Level& level) {
  std::ranges::stable_sort(found_, [](const Found& a, const Found& b) {
    return a.to != b.to ? a.to < b.to : a.from < b.from;
  });
  for (const Found& f : found_) {
    if (level.edges.empty() || level.edges.back().from != f.from || level.edges.back().to != f.to)
      level.edges.push_back({f.from, f.to, 0, 0});
    FoldableGraph::LevelEdge& edge = level.edges.back();
    ++edge.count;
    // Sizes come from files; a sum that would overflow stays at the most there is.
    if (__builtin_add_overflow(edge.bytes, f.bytes, &edge.bytes)) edge.bytes = INT64_MAX;
  }
}

}  // namespace hloscope::graph
