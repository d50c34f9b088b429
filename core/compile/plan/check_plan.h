// Checks a plan from the cache or a .hloplan, which is untrusted, against its module before it
// runs.
#pragma once

#include "core/compile/gpu_code.h"
#include "core/compile/plan/plan.h"

namespace hloscope::compile {

/// Whether every number leads to something in the plan or its module, every step has arrays of the
/// sizes that the module says, and nothing is read before it has memory. `code`: of a GPU's
/// kernels, which passes CheckGpuCode.
bool CheckPlan(const Plan& plan, const GpuCode& code = {});

/// Whether every number leads to something in the code or `module`, and kernels can be launched.
bool CheckGpuCode(const hlo::Module& module, const GpuCode& code);

}  // namespace hloscope::compile
