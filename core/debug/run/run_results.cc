// ResultCollector: values by list and leaf.
#include "core/debug/run/run_results.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/debug/run/run_module.h"
#include "core/hlo/shape/infer.h"

namespace hloscope::debug {

using hlo::Literal;

namespace {

// The expected value of leaf i, whatever its dimensions.
Result<std::optional<Literal>> Wanted(const dump::TensorFiles& expected, size_t i, int64_t array,
                                      const hlo::Shape& shape) {
  return expected.Output(static_cast<int64_t>(i), array, shape,
                         [](std::span<const int64_t>) { return true; });
}

// Values of several devices are put together by the shape that the module gives them.
Status CheckShape(const Literal& value, const hlo::Shape& shape, size_t leaf, size_t list) {
  const hlo::Shape& own = value.shape();
  if (!shape.IsArray() || (own.IsArray() && own.element_type() == shape.element_type() &&
                           hlo::SameDimensions(own, shape))) {
    return {};
  }
  return EnvironmentError(fmt::format("out{} of device {} came back as {}, not {}", leaf, list,
                                      hlo::ToString(own, false), hlo::ToString(shape, false)),
                          "the platform is at fault; run on another one");
}

}  // namespace

void ResultCollector::Take(replay::RunEvent event) {
  if (auto* result = std::get_if<replay::LeafResult>(&event)) return Keep(std::move(*result));
  if (auto* finding = std::get_if<replay::SearchFinding>(&event)) finding_ = std::move(*finding);
  if (auto* warning = std::get_if<replay::RunWarning>(&event)) {
    // Repetitions of a run say the same again.
    if (std::ranges::find(report_.warnings, warning->text) == report_.warnings.end())
      report_.warnings.push_back(std::move(warning->text));
  }
  if (const auto* fault = std::get_if<replay::RunFault>(&event)) {
    report_.warnings.push_back(fault->error.ToString());
  }
  if (const auto* progress = std::get_if<replay::RunProgress>(&event); progress && on_progress_) {
    on_progress_(*progress);
  }
  if (auto* fallback = std::get_if<replay::RunFallback>(&event)) {
    report_.fallbacks.push_back(std::move(*fallback));
  }
  if (auto* found = std::get_if<replay::RunFinding>(&event)) {
    KeepFinding(std::move(*found));
  }
  if (auto* executed = std::get_if<replay::RunExecuted>(&event)) {
    report_.executed = std::move(*executed);
  }
}

// Runs on other inputs find the same again.
void ResultCollector::KeepFinding(replay::RunFinding finding) {
  const auto line = [](const std::optional<replay::RunFinding::Side>& side) {
    return side ? side->line : -1;
  };
  for (replay::RunFinding& known : report_.checks) {
    if (known.kind != finding.kind || known.instruction != finding.instruction ||
        known.kernel != finding.kernel || known.memory != finding.memory ||
        line(known.at) != line(finding.at) || line(known.other) != line(finding.other)) {
      continue;
    }
    known.count += finding.count;
    return;
  }
  report_.checks.push_back(std::move(finding));
}

void ResultCollector::Keep(replay::LeafResult result) {
  const auto list = static_cast<size_t>(result.device), leaf = static_cast<size_t>(result.leaf);
  lists_.resize(std::max(lists_.size(), list + 1));
  Leaves& leaves = lists_[list];
  leaves.resize(std::max(leaves.size(), leaf + 1), InternalError("a result is missing"));
  leaves[leaf] = std::move(result.value);
}

Result<Leaves> ResultCollector::Gather(const replay::Placement& placement,
                                       std::vector<replay::LeafPlacement>& leaves,
                                       const dump::TensorFiles* expected,
                                       std::span<const hlo::Shape> shapes) {
  if (!leaves.empty() && std::cmp_not_equal(lists_.size(), placement.lists())) {
    return InternalError("a result is missing");
  }
  Leaves results;
  int64_t arrays = 0;
  for (size_t i = 0; i < leaves.size(); ++i) {
    replay::LeafPlacement leaf = leaves[i];
    const int64_t array = leaf.shape.IsArray() ? arrays++ : arrays;
    if (i < shapes.size()) leaf.shape = shapes[i];
    std::vector<Literal> values;
    std::optional<Error> missing;
    for (size_t k = 0; k < lists_.size(); ++k) {
      const Leaves& list = lists_[k];
      if (i >= list.size()) return InternalError("a result is missing");
      if (lists_.size() > 1 && list[i].has_value()) {
        HLOSCOPE_TRY(CheckShape(*list[i], leaf.shape, i, k));
      }
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
      HLOSCOPE_ASSIGN_OR_RETURN(wanted, Wanted(*expected, i, array, leaves[i].shape));
    }
    auto gathered = placement.Gather(leaf, values, wanted ? &*wanted : nullptr);
    leaves[i].tiling = leaf.tiling;
    if (!gathered.warning.empty()) {
      report_.warnings.push_back(fmt::format("out{}: {}", i, gathered.warning));
    }
    results.push_back(std::move(gathered.value));
  }
  return results;
}

}  // namespace hloscope::debug
