// ExplainProgram: why the results of a run differ where none of its kernels does by itself.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/base/result.h"
#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/run/run_module.h"
#include "core/debug/run/run_results.h"

namespace hloscope::debug {

struct ProgramExplanation {
  std::optional<Cause> cause;  // none: nothing closes the gap
  std::vector<DivergeTry> tries;
};

// The results of `module` on one device, which differ from the reference of `request` on those
// arguments. One thing is switched at a time, in all kernels or in the reference. Errors: those of
// running either. Judged by the results in `judged`, by number; by all where it is empty.
Result<ProgramExplanation> ExplainProgram(const std::shared_ptr<const hlo::Module>& module,
                                          const RunSpec& request, const Leaves& actual,
                                          const std::vector<hlo::Literal>& arguments,
                                          std::span<const int64_t> judged,
                                          const std::stop_token& stop);

// The same of the kernels alone: the results as they should be are given.
Result<ProgramExplanation> ExplainBySwitches(const std::shared_ptr<const hlo::Module>& module,
                                             const RunSpec& request, const Leaves& actual,
                                             const Leaves& expected,
                                             const std::vector<hlo::Literal>& arguments,
                                             const std::stop_token& stop);

}  // namespace hloscope::debug
