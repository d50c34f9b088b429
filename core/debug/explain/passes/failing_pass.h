// The pass in which a compilation fails or dies.
#pragma once

#include <memory>
#include <stop_token>

#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/explain/passes/pipeline.h"
#include "core/debug/run/run_module.h"

namespace hloscope::debug {

// The verdict on `module`, whose compilation on the request's platform failed behind the last stage
// of `own`. A pass is blamed where the module compiles and runs without it: first of all the one
// that was to run next. Never fails itself.
DivergeVerdict ExplainFailure(const std::shared_ptr<const hlo::Module>& module,
                              const OwnPipeline& own, const RunSpec& request,
                              const std::stop_token& stop);

}  // namespace hloscope::debug
