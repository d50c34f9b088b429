// Whether two modules mean the same, by the results that they give on the same inputs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

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
// How many elements of all results differ.
int64_t MismatchedElements(const Leaves& actual, const Leaves& expected,
                           const BoundsRequest& bounds);

// The leaves that differ beyond them.
std::vector<size_t> DifferingLeaves(const Leaves& actual, const Leaves& expected,
                                    const BoundsRequest& bounds);

// How two modules compare whose results differ beyond the bounds.
struct MeaningChange {
  LeafComparison worst;
  // Why that is no change of meaning: rounding (in double precision both agree) or an
  // ill-conditioned result (diverge/conditioning.h). Absent: it is one.
  std::optional<Cause> excuse;
};

// `after` against `before`, whose results on the inputs of `values` are given; nullopt where they
// agree. What cannot be evaluated in double precision is judged without that.
std::optional<MeaningChange> ChangeOfMeaning(const StageValues& values,
                                             const std::shared_ptr<const hlo::Module>& before,
                                             const Leaves& results_before,
                                             const std::shared_ptr<const hlo::Module>& after,
                                             const Leaves& results_after);

// How the results move where `after` does not round as `before` asks: by reduce-precision, by
// conversions or by types narrower than f32, which bounds of the results' type may hide. Of values
// in double precision that are rounded where the modules ask for it and nowhere else, so that the
// order of sums and the like do not count; the last bits of the results' type do not either.
// Nullopt: they round alike, the results have the same bits or move as much when the inputs move
// by one ULP, or the user gave bounds.
std::optional<LeafComparison> ChangeOfRounding(const StageValues& values,
                                               const std::shared_ptr<const hlo::Module>& before,
                                               const Leaves& results_before,
                                               const std::shared_ptr<const hlo::Module>& after,
                                               const Leaves& results_after);

// True if every leaf that both have has the same bits.
bool HaveSameBits(const Leaves& a, const Leaves& b);

// The leaves that differ in double precision by more than constants that a pass has folded may be
// rounded by; none where one of the two cannot be evaluated so.
std::vector<size_t> LeavesOfOtherMeaning(const StageValues& values,
                                         const std::shared_ptr<const hlo::Module>& before,
                                         const std::shared_ptr<const hlo::Module>& after,
                                         const Leaves& results_before);

// Values that were rounded so, by the bounds of a value of `type`.
LeafComparison CompareRounded(const hlo::Literal& actual, const hlo::Literal& expected,
                              hlo::ElementType type);

// "FILE: dot.3: operand_precision={highest,highest} became {default,default}": what instructions of
// one name ask of precision in both, which the reference does not show.
std::vector<std::string> PrecisionAttributeChanges(const hlo::Module& before,
                                                   const hlo::Module& after);

}  // namespace hloscope::debug
