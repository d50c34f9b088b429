// DivergeAlone: two platforms of which one neither takes its own optimised module nor tells values
// inside one.
#pragma once

#include <memory>
#include <stop_token>

#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/run/run_module.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

// True where DivergePlatforms cannot be had of the request's platforms, and this can.
bool RunsKernelsAlone(const RunSpec& request);

// As DivergePlatforms, but kernels of the optimised module run one at a time (lone_kernels.h),
// which `warnings` and the walk say. Never fails itself.
DivergeVerdict DivergeAlone(const std::shared_ptr<const hlo::Module>& module,
                            const RunSpec& request, const std::stop_token& stop,
                            const RunSinks& sinks = {});

}  // namespace hloscope::debug
