// ResultCollector: values by list and leaf.
#include "core/debug/run/run_results.h"

#include <fmt/format.h>

#include <algorithm>

namespace hloscope::debug {

using hlo::Literal;

namespace {

// The expected value of leaf i, whatever its dimensions.
Result<std::optional<Literal>> Wanted(const dump::TensorFiles& expected, size_t i,
                                      const hlo::Shape& shape) {
  return expected.Output(static_cast<int64_t>(i), shape,
                         [](std::span<const int64_t>) { return true; });
}

}  // namespace

void ResultCollector::OnResult(int64_t list, int64_t leaf, Result<Literal> value) {
  lists_.resize(std::max<size_t>(lists_.size(), static_cast<size_t>(list) + 1));
  Leaves& leaves = lists_[static_cast<size_t>(list)];
  leaves.resize(std::max<size_t>(leaves.size(), static_cast<size_t>(leaf) + 1),
                InternalError("a result is missing"));
  leaves[static_cast<size_t>(leaf)] = std::move(value);
}

Result<Leaves> ResultCollector::Gather(const replay::Placement& placement,
                                       std::vector<replay::LeafPlacement>& leaves,
                                       const dump::TensorFiles* expected) {
  Leaves results;
  for (size_t i = 0; i < leaves.size(); ++i) {
    std::vector<Literal> values;
    std::optional<Error> missing;
    for (const Leaves& list : lists_) {
      if (i >= list.size()) return InternalError("a result is missing");
      if (list[i].has_value()) {
        values.push_back(*list[i]);
      } else if (!missing) {
        missing = list[i].error();
      }
    }
    if (missing) {
      results.push_back(std::unexpected(*std::move(missing)));
      continue;
    }
    if (values.empty()) return InternalError("a result is missing");
    std::optional<Literal> wanted;
    if (expected != nullptr && leaves[i].shape.IsArray() && placement.lists() > 1) {
      HLOSCOPE_ASSIGN_OR_RETURN(wanted, Wanted(*expected, i, leaves[i].shape));
    }
    auto gathered = placement.Gather(leaves[i], values, wanted ? &*wanted : nullptr);
    if (!gathered.warning.empty()) {
      warnings_.push_back(fmt::format("out{}: {}", i, gathered.warning));
    }
    results.push_back(std::move(gathered.value));
  }
  return results;
}

}  // namespace hloscope::debug
