// The verdict on a module that two platforms give different results of.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/run/run_module.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

// The platform itself, or where it has no passes the first that has.
std::string CompilerOf(std::string_view platform);

// Where the request's platform and reference platform diverge: in the code that really runs,
// or where a platform does not tell values inside it, instruction by instruction, which a warning
// says. Where the passes alone make the difference, the one that does; else what cures it is tried
// too. Never fails itself. What
// the run of the whole module tells goes to `sinks`.
DivergeVerdict ExplainPlatforms(const std::shared_ptr<const hlo::Module>& module,
                                const RunSpec& request, const std::stop_token& stop,
                                const RunSinks& sinks = {});

}  // namespace hloscope::debug
