// What is switched in all kernels, judged by some results.
#include "core/debug/explain/kernels/result_causes.h"

#include <algorithm>
#include <utility>

namespace hloscope::debug {

Result<ProgramExplanation> ResultCauses::Run(std::span<const int64_t> judged) const {
  Leaves actual;
  for (const RunOutput& output : plain_.outputs) {
    actual.push_back(output.missing ? Result<hlo::Literal>(std::unexpected(*output.missing))
                                    : output.value);
  }
  return ExplainProgram(module_, request_, actual, plain_.arguments, judged, stop_);
}

DivergeFinding ResultCauses::Explain(std::vector<int64_t> results) const {
  DivergeFinding finding{.cause = Cause::kUnexplained, .results = std::move(results)};
  if (const Status time = CheckTime(); !time) {
    finding.not_tried = time.error().message;
    return finding;
  }
  auto explained = Run(finding.results);
  if (!explained.has_value()) {
    finding.not_tried = explained.error().message;
    return finding;
  }
  finding.tries = std::move(explained->tries);
  if (explained->cause) {
    finding.cause = explained->cause;
    finding.confirmed = true;
  }
  return finding;
}

std::vector<DivergeFinding> ResultCauses::ExplainEach(std::span<const int64_t> results,
                                                      size_t most) const {
  std::vector<DivergeFinding> findings;
  DivergeFinding open{.cause = Cause::kUnexplained};
  for (const int64_t result : results) {
    DivergeFinding finding = Explain({result});
    const auto same = std::ranges::find(findings, finding.cause, &DivergeFinding::cause);
    if (same != findings.end()) {
      same->results.push_back(result);
    } else if (finding.cause != Cause::kUnexplained && findings.size() < most) {
      findings.push_back(std::move(finding));
    } else {
      open.results.push_back(result);
      open.not_tried = finding.not_tried;
    }
  }
  if (!findings.empty() && !open.results.empty()) findings.push_back(std::move(open));
  return findings;
}

Status ResultCauses::CheckTime() const {
  if (!stop_.stop_requested() && Clock::now() < end_) return {};
  return std::unexpected(
      Error{ErrorClass::kDeadlineExceeded, "those before took all the time", {}, {}});
}

}  // namespace hloscope::debug
