#include "core/debug/explain/passes/other_operation.h"

#include <utility>
#include <vector>

#include "core/debug/explain/passes/meaning.h"

namespace hloscope::debug {

std::optional<OtherOperation> FindOtherOperation(const StageValues& values,
                                                 const std::shared_ptr<const hlo::Module>& before,
                                                 const Leaves& results_before,
                                                 const std::shared_ptr<const hlo::Module>& after,
                                                 const Leaves& results_after,
                                                 const std::function<analysis::Alignment()>& align,
                                                 const std::stop_token& stop) {
  constexpr BoundsRequest kExactly{0, 0};
  const auto worst = WorstDifference(results_after, results_before, kExactly);
  if (!worst) return std::nullopt;
  const std::vector<size_t> leaves = LeavesOfOtherMeaning(values, before, after, results_before);
  if (leaves.empty()) return std::nullopt;
  auto edit = FindEdit(values, before, after, align(), leaves, stop, Sought::kOperations);
  if (!edit.has_value() || !edit->has_value()) return std::nullopt;
  return OtherOperation{**std::move(edit), *worst};
}

}  // namespace hloscope::debug
