// Why nodes that could be compiled are in no cluster: what keeps them from their neighbours.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/dump/tensorflow/graph_edges.h"
#include "core/dump/tensorflow/marking.h"

namespace hloscope::dump {

struct UnmergedVerdicts {
  std::vector<std::pair<int32_t, OutsideVerdict>> verdicts;
  int64_t steps = 0;  // nodes and edges looked at
};

// A verdict for each of `candidates`, nodes of the main graph that are in no cluster although
// nothing forbids it.
UnmergedVerdicts WhyUnmerged(const TensorFlowGraph& graph, const GraphEdges& edges,
                             const std::vector<int32_t>& candidates);

}  // namespace hloscope::dump
