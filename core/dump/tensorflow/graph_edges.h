// The main graph of a GraphDef as numbered nodes: who feeds whom.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/dump/tensorflow/tensorflow_graph.h"

namespace hloscope::dump {

// "a" of "a:1", "^a" and "a:out:0"; `slot` is the number behind, 0 without one, -1 for a control
// input.
struct InputName {
  std::string_view node;
  int32_t slot = 0;
};
InputName ParseInput(std::string_view input);

struct GraphEdge {
  int32_t node = -1;  // of the main graph, by position in TensorFlowGraph::nodes
  int32_t slot = 0;   // of the producer; -1: control
};

class GraphEdges {
 public:
  explicit GraphEdges(const TensorFlowGraph& graph);

  const std::vector<int32_t>& main() const { return main_; }  // nodes outside all functions
  // In the order of the inputs; those that the graph does not hold have node -1.
  const std::vector<GraphEdge>& inputs(int32_t node) const { return inputs_[Position(node)]; }
  const std::vector<GraphEdge>& users(int32_t node) const { return users_[Position(node)]; }

 private:
  static size_t Position(int32_t node) { return static_cast<size_t>(node); }

  std::vector<int32_t> main_;
  std::vector<std::vector<GraphEdge>> inputs_, users_;
};

}  // namespace hloscope::dump
