// What a platform's own runs say about a verdict: what cures it, whether that confirms the pass,
// and the cause where no pass is guilty.
#pragma once

#include <stop_token>
#include <string_view>

#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/explain/passes/pipeline.h"
#include "core/debug/explain/passes/platform_tries.h"
#include "core/debug/explain/passes/stage_values.h"

namespace hloscope::debug {

// Adds to `verdict` (that FindGuiltyPass gave) what runs of the module on its platform show:
// status, cured_by, confirmed, tries and, where no pass is guilty, cause and place. `opcode` is
// that of the instruction that differs on its own operands, where it is known.
void ExplainRun(DivergeVerdict& verdict, PlatformTries& tries, const StageValues& values,
                const Pipeline& pipeline, const std::stop_token& stop,
                std::string_view opcode = {});

}  // namespace hloscope::debug
