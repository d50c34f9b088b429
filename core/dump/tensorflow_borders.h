// What goes into and out of TensorFlow's clusters.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/dump/tensorflow/graph_edges.h"
#include "core/dump/tensorflow/tensorflow_graph.h"

namespace hloscope::dump {

// Types and sizes of the values of the main graph, as far as it tells them. A value is a result of
// a node, named by the edge that carries it; not a control edge. Graph and edges must outlive this.
class GraphValues {
 public:
  GraphValues(const TensorFlowGraph& graph, const GraphEdges& edges);
  int32_t TypeOf(const GraphEdge& value) const;  // of TensorFlow's DataType; 0: unknown
  std::optional<std::vector<int64_t>> ShapeOf(const GraphEdge& value) const;
  int64_t BytesOf(const GraphEdge& value) const;  // -1: unknown
  // "FLOAT [256,4]", "FLOAT", "[256,4]"; empty: neither is known.
  std::string Text(const GraphEdge& value) const;

 private:
  const TensorFlowGraph& graph_;
  std::vector<std::optional<std::vector<int64_t>>> first_;  // shapes of first results
};

// The values that cross the border of a cluster in the main graph, in its order. Their sizes where
// the graph tells type and shape.
std::vector<ClusterBorder> FindBorders(const TensorFlowGraph& graph);

// "10 values across cluster boundaries: 40 B; 3 copied between devices"; empty: there are none.
std::string BordersText(const std::vector<ClusterBorder>& borders,
                        const std::function<std::string(int64_t)>& bytes_text);

}  // namespace hloscope::dump
