// Whether a module was wrong before XLA saw it.
#pragma once

#include <memory>
#include <stop_token>

#include "core/base/result.h"
#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/explain/passes/stage_values.h"
#include "core/debug/run/run_module.h"

namespace hloscope::debug {

// Adds to a verdict that names neither pass nor cause what the module before optimizations gives:
// held against what `given` expects of it, and against the module made of the StableHLO that it
// comes from (null: there is none; an error becomes a try that could not be made). Where the first
// differs, the cause is kBeforeXla, where the second does, kConversion. `results` are the module's
// own.
void CheckBeforeXla(DivergeVerdict& verdict, const StageValues& values, const RunSpec& given,
                    const std::shared_ptr<const hlo::Module>& module, const Leaves& results,
                    const Result<std::shared_ptr<const hlo::Module>>& source,
                    const std::stop_token& stop);

}  // namespace hloscope::debug
