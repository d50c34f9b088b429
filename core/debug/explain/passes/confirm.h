// Showing by another run that a verdict is right.
#pragma once

#include <stop_token>

#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/explain/passes/pipeline.h"
#include "core/debug/explain/passes/platform_tries.h"
#include "core/debug/explain/passes/stage_values.h"

namespace hloscope::debug {

// Confirmed if the guilty pass, the first of the verdict's, is in cured_by, or alone does to the
// module before it what it did. What was tried for that is told.
void ConfirmPass(DivergeVerdict& verdict, const PlatformTries& tries, const StageValues& values,
                 const Pipeline& pipeline, const std::stop_token& stop);

// Confirmed if the platform gives what the module means that its compiler was given.
void ConfirmFrontEnd(DivergeVerdict& verdict, const PlatformTries& tries, const Pipeline& pipeline,
                     const std::stop_token& stop);

}  // namespace hloscope::debug
