// MergeKernels: kernels with the same loop become one of several results.
#pragma once

#include <vector>

#include "core/compile/fusion/fusion_graph.h"

namespace hloscope::compile {

// The kernels of the graph, merged where that saves reads or runs of small kernels. On a GPU rows
// of any length are worth a kernel; on a processor those that fill a vector or more.
std::vector<KernelGroup> MergeKernels(const FusionGraph& graph, bool for_gpu,
                                      std::vector<FusionDecision>& decisions);

}  // namespace hloscope::compile
