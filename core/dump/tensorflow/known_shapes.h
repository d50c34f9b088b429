// Shapes of the results of nodes, as far as a graph tells them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/dump/tensorflow/graph_edges.h"

namespace hloscope::dump {

// By node, of its first result: what the node itself says (_output_shapes, the value of a
// constant), or what follows of its operands where it works element by element. nullopt: unknown; a
// dimension of -1 is, too.
std::vector<std::optional<std::vector<int64_t>>> KnownShapes(const TensorFlowGraph& graph,
                                                             const GraphEdges& edges);

}  // namespace hloscope::dump
