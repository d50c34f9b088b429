// Whether two modules mean the same, by the results that they give on the same inputs.
#pragma once

#include <memory>
#include <optional>

#include "core/base/result.h"
#include "core/debug/compare/compare_values.h"
#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/explain/passes/stage_values.h"
#include "core/debug/run/run_results.h"

namespace hloscope::debug {

// The leaf that differs most; nullopt where all agree that both have. Without bounds of the user's,
// values much smaller than one also have to agree to two digits of the largest of them.
std::optional<LeafComparison> WorstDifference(const Leaves& actual, const Leaves& expected,
                                              const BoundsRequest& bounds);

// The leaves that differ beyond them.
std::vector<size_t> DifferingLeaves(const Leaves& actual, const Leaves& expected,
                                    const BoundsRequest& bounds);

// How two modules compare whose results differ beyond the bounds.
struct MeaningChange {
  LeafComparison worst;
  // Why that is no change of meaning: rounding (in double precision both agree) or an
  // ill-conditioned result (it moves as much when the inputs move by one ULP). Absent: it is one.
  std::optional<Cause> excuse;
};

// `after` against `before`, whose results on the inputs of `values` are given; nullopt where they
// agree. What cannot be evaluated in double precision is judged without that.
std::optional<MeaningChange> ChangeOfMeaning(const StageValues& values,
                                             const std::shared_ptr<const hlo::Module>& before,
                                             const Leaves& results_before,
                                             const std::shared_ptr<const hlo::Module>& after,
                                             const Leaves& results_after);

}  // namespace hloscope::debug
