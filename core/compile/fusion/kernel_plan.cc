#include "core/compile/fusion/kernel_plan.h"

#include "core/compile/fusion/fusion_graph.h"
#include "core/compile/fusion/merge_kernels.h"

namespace hloscope::compile {

KernelPlan PlanKernels(const hlo::Module& module, hlo::ComputationId computation, bool for_gpu) {
  KernelPlan plan;
  const FusionGraph graph(module, computation, for_gpu, plan.decisions);
  plan.groups = MergeKernels(graph, for_gpu, plan.decisions);
  return plan;
}

}  // namespace hloscope::compile
