// KernelPlan: which instructions of a computation share a kernel.
#pragma once

#include <vector>

#include "core/compile/compile.h"
#include "core/hlo/module.h"

namespace hloscope::compile {

// Limits of one kernel, so that its code stays small.
inline constexpr size_t kMaxInKernel = 200;
inline constexpr size_t kMaxOperands = 64;
inline constexpr size_t kMaxResults = 16;

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
