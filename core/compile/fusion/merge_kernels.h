// MergeKernels: kernels with the same loop become one of several results.
#pragma once

#include <vector>

#include "core/compile/fusion/fusion_graph.h"

namespace hloscope::compile {

// The kernels of the graph, merged where that saves reads or runs of small kernels.
std::vector<KernelGroup> MergeKernels(const FusionGraph& graph,
                                      std::vector<FusionDecision>& decisions);

}  // namespace hloscope::compile
