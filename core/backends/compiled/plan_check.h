// What a .hloplan says, which may be anybody's, held to its module before anything runs.
#pragma once

#include "core/compile/gpu_code.h"
#include "core/compile/plan/plan.h"
#include "core/hlo/module.h"

namespace hloscope::replay {

// Whether every number leads to something, and everything that runs has arrays of the sizes that
// `module` says. Null: there is no plan.
bool Fits(const hlo::Module& module, const compile::Plan* plan, const compile::GpuCode& code);

}  // namespace hloscope::replay
