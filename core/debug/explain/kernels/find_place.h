// FindPlace: which thread stored the worst element of an array, and where its value comes from.
#pragma once

#include <optional>

#include "core/debug/explain/kernels/kernel_runs.h"

namespace hloscope::debug {

// Fills in the finding and the warnings of `out`, whose `worst` is of that array. Answers what
// edits of lines are to put right (all but `expected`, `lines` and `sizes`); nothing where the
// array is not traced back. Errors: those of running the kernels.
Result<std::optional<replay::EditTrials>> FindPlace(const KernelRuns& runs, size_t array,
                                                    const hlo::Literal& actual,
                                                    const hlo::Literal& expected,
                                                    KernelExplanation& out);

}  // namespace hloscope::debug
