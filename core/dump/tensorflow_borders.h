// What goes into and out of TensorFlow's clusters.
#pragma once

#include <vector>

#include "core/dump/tensorflow/tensorflow_graph.h"

namespace hloscope::dump {

// The values that cross the border of a cluster in the main graph, in its order. Their sizes where
// the graph tells type and shape.
std::vector<ClusterBorder> FindBorders(const TensorFlowGraph& graph);

}  // namespace hloscope::dump
