#include "core/debug/explain/kernels/explain_update_order.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "core/base/counted.h"
#include "core/debug/run/update_order.h"

namespace hloscope::debug {

std::optional<KernelExplanation> ExplainByUpdateOrder(const KernelQuestion& question,
                                                      const Leaves& actual, const Leaves& meant,
                                                      const RunSpec& request) {
  std::vector<DifferingResult> results;
  KernelExplanation out;
  for (size_t i = 0; i < actual.size() && i < meant.size(); ++i) {
    if (!actual[i].has_value() || !meant[i].has_value()) return std::nullopt;
    if (!meant[i]->shape().IsArray()) continue;
    LeafComparison compared = CompareArrays(*actual[i], *meant[i], request.compare.bounds);
    if (compared.equal()) continue;
    if (results.empty()) out.worst = std::move(compared);
    results.push_back({i, *actual[i], *meant[i]});
  }
  const auto moved = MovedByUpdateOrder(question.alone, request, question.arguments, results);
  if (!moved || moved->moving != moved->differing) return std::nullopt;
  out.cause = Cause::kOverlappingUpdates;
  out.confirmed = true;
  out.tries.push_back({"the updates of scatters applied from the last to the first", true,
                       fmt::format("each of {} that differ changes with their order",
                                   Counted(moved->differing, "element"))});
  return out;
}

}  // namespace hloscope::debug
