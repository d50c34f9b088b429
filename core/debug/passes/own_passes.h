// The verdict on a module that its platform runs otherwise than the reference: which of the
// platform's own passes, or which cause.
#pragma once

#include <memory>
#include <stop_token>

#include "core/debug/diverge/verdict.h"
#include "core/debug/run/run_module.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

// The request's platform, which has to be one that dumps, compiles the module and writes all
// stages; they are evaluated, and the module is run again with one pass or flag off at a time. The
// stages are thrown away. Never fails itself.
DivergeVerdict ExplainByOwnPasses(const std::shared_ptr<const hlo::Module>& module,
                                  const RunRequest& request, const std::stop_token& stop);

}  // namespace hloscope::debug
