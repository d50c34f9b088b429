// The run that a verdict on two platforms is about.
#pragma once

#include <memory>
#include <stop_token>

#include "core/debug/explain/diverge/verdict.h"

namespace hloscope::debug {

// Says which platforms and inputs it is about, and nothing yet.
DivergeVerdict VerdictOn(const RunSpec& request);

// Runs the whole module once, as `run` does, compiled with all passes; its warnings become those of
// `verdict`. Errors: that of the run.
Result<RunReport> RunPlain(const std::shared_ptr<const hlo::Module>& module, const RunSpec& request,
                           const RunSinks& sinks, DivergeVerdict& verdict,
                           const std::stop_token& stop);

}  // namespace hloscope::debug
