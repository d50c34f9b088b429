// Two modules that should mean the same: where they begin to differ, and what they give.
#pragma once

#include <memory>
#include <stop_token>

#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/explain/passes/find_pass.h"
#include "core/debug/run/run_results.h"
#include "core/debug/run/run_spec.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

// `second` is the expected one; both are evaluated on the inputs that `spec` has for `first`, on
// the reference platform, whatever those of `spec` are. Parts of results are put together as the
// sharding of either says. Refused: the sharding of a partitioned module's results is unknown;
// other parameters; constants that are made up on one side alone, which would be what differs.
// `files`: for errors.
DivergeVerdict ExplainTwoModules(const std::shared_ptr<const hlo::Module>& first,
                                 const std::shared_ptr<const hlo::Module>& second,
                                 const RunSpec& spec, const ModuleFiles& files,
                                 const std::stop_token& stop);

struct ResultsOfTwo {
  Leaves first, second;
};

// What both give on the arguments of `spec`, one of each parameter, on the reference platform, and
// nothing of why. Errors: what is refused above; those of the runs.
Result<ResultsOfTwo> EvaluateTwoModules(const std::shared_ptr<const hlo::Module>& first,
                                        const std::shared_ptr<const hlo::Module>& second,
                                        const RunSpec& spec, const ModuleFiles& files,
                                        const std::stop_token& stop);

}  // namespace hloscope::debug
