// ExplainProgram: why the results of a run differ where none of its kernels does by itself.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/base/result.h"
#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/run/run_module.h"

namespace hloscope::debug {

struct ProgramExplanation {
  std::optional<Cause> cause;  // none: nothing closes the gap
  std::vector<DivergeTry> tries;
};

// `plain`: the run of `module` that differs from the reference of `request`, on one device. One
// thing is switched at a time, in all kernels or in the reference. Errors: those of running either.
Result<ProgramExplanation> ExplainProgram(const std::shared_ptr<const hlo::Module>& module,
                                          const RunSpec& request, const RunReport& plain,
                                          const std::stop_token& stop);

}  // namespace hloscope::debug
