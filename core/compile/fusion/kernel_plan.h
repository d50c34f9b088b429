// KernelPlan: which instructions of a computation share a kernel.
#pragma once

#include <vector>

#include "core/compile/compile.h"
#include "core/hlo/module.h"

namespace hloscope::compile {

// Limits of one kernel, so that its code stays small. Of instructions inside, those that cost
// nothing do not count, and on a processor expensive ones count twice (CodeSizeOf); each root
// counts once. On a GPU what lies between two kernels costs a launch, and goes through memory.
struct KernelLimits {
  size_t instructions, operands, results;
};
inline constexpr KernelLimits kProcessorLimits = {400, 64, 16}, kGpuLimits = {1000, 64, 32};
inline const KernelLimits& LimitsOf(bool for_gpu) {
  return for_gpu ? kGpuLimits : kProcessorLimits;
}

// A kernel: what it yields, and what it computes on the way; both in program order. Constants that
// are part of its code are not listed.
struct KernelGroup {
  std::vector<hlo::InstructionId> roots;
  std::vector<hlo::InstructionId> members;  // without the roots
};

// By instruction of one computation, what its value is made by.
struct KernelPlan {
  std::vector<KernelGroup> groups;
  std::vector<FusionDecision> decisions;
};

// Plans the kernels of a computation, of a GPU or of a processor. Instructions that cannot be in
// one are in no group.
KernelPlan PlanKernels(const hlo::Module& module, hlo::ComputationId computation, bool for_gpu);

}  // namespace hloscope::compile
