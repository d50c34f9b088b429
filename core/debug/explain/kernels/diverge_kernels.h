// DivergeKernels: which kernel of a simulated GPU first gives something else than its instruction
// means on the very operands that it had, where in its code, and why.
#pragma once

#include <memory>
#include <stop_token>

#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/run/run_module.h"

namespace hloscope::debug {

// True where the request's platform runs kernels on a simulated GPU.
bool RunsSimulatedKernels(const RunSpec& request);

// Runs the module on the request's platform and reference platform, then kernel by kernel beside
// the evaluator; the first in the order of execution that differs is explained (explain_kernel.h).
// Never fails itself.
DivergeVerdict DivergeKernels(const std::shared_ptr<const hlo::Module>& module,
                              const RunSpec& request, const std::stop_token& stop,
                              const RunSinks& sinks = {});

}  // namespace hloscope::debug
