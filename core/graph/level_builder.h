// Finds the edges between the children of an open group, and between them and what lies outside.
#pragma once

#include <vector>

#include "core/graph/picture.h"

namespace hloscope::graph {

class LevelBuilder {
 public:
  // `child_of_leaf` is room for a number by node, kept for the next level: all kNoChild before and
  // after.
  LevelBuilder(const Tree& tree, std::vector<uint32_t>& child_of_leaf)
      : tree_(tree), child_of_leaf_(child_of_leaf) {}
  FoldableGraph::Level Build(NodeId group);

 private:
  static constexpr uint32_t kNoChild = UINT32_MAX;
  struct Found {
    uint32_t from = 0, to = 0;
    int64_t bytes = 0;
  };
  void MarkLeaves(NodeId group);
  void SortLeaves();
  NodeId Outside(NodeId group, NodeId leaf) const;
  uint32_t Port(NodeId outside, bool in);
  void FindEdges(NodeId group);
  bool OneSourceLeaves() const;
  void MergePorts();
  void MergeEdges(FoldableGraph::Level& level);

  const Tree& tree_;
  std::vector<NodeId> leaves_;
  std::vector<uint32_t>& child_of_leaf_;
  std::unordered_map<uint32_t, uint32_t> in_ports_, out_ports_;  // by outside node
  std::vector<NodeId> ins_, outs_;
  std::vector<Found> found_;
};

}  // namespace hloscope::graph
