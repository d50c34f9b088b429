// What goes into and out of TensorFlow's clusters.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/dump/tensorflow/tensorflow_graph.h"

namespace hloscope::dump {

// The values that cross the border of a cluster in the main graph, in its order. Their sizes where
// the graph tells type and shape.
std::vector<ClusterBorder> FindBorders(const TensorFlowGraph& graph);

// "10 values across cluster boundaries: 40 B; 3 copied between devices"; empty: there are none.
std::string BordersText(const std::vector<ClusterBorder>& borders,
                        const std::function<std::string(int64_t)>& bytes_text);

}  // namespace hloscope::dump
