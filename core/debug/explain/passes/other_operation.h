// An operation that became another one, where the values do not say so.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "core/analysis/align/alignment.h"
#include "core/debug/explain/passes/find_edit.h"

namespace hloscope::debug {

struct OtherOperation {
  FoundEdit edit;
  LeafComparison worst;  // of the results, after against before, without bounds
};

// The results of both are given and differ in some bit, within the bounds or by what seems to be
// rounding. An instruction of `after` that makes something else than its partner in `before` of the
// same operands, in double precision, so that some result differs there too: it has another
// meaning, whatever these inputs show of it. Nullopt: there is none, or it is not known.
std::optional<OtherOperation> FindOtherOperation(const StageValues& values,
                                                 const std::shared_ptr<const hlo::Module>& before,
                                                 const Leaves& results_before,
                                                 const std::shared_ptr<const hlo::Module>& after,
                                                 const Leaves& results_after,
                                                 const std::function<analysis::Alignment()>& align,
                                                 const std::stop_token& stop);

}  // namespace hloscope::debug
