// ResultCauses: why results of a run on a simulated GPU differ that no kernel differs for by
// itself.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/explain/kernels/explain_program.h"
#include "core/debug/run/run_module.h"

namespace hloscope::debug {

class ResultCauses {
 public:
  // `plain` is the run of `module` that differs. All of them must outlive it.
  ResultCauses(const std::shared_ptr<const hlo::Module>& module, const RunSpec& request,
               const RunReport& plain, const std::stop_token& stop)
      : module_(module), request_(request), plain_(plain), stop_(stop) {}

  // Judged by those results, by number; by all where there are none (explain_program.h).
  Result<ProgramExplanation> Run(std::span<const int64_t> judged) const;

  // The same as a finding, which says where nothing could be tried.
  DivergeFinding Explain(std::vector<int64_t> results) const;

  // Each of `results` judged by itself: those of one cause are one finding, up to `most`, and those
  // of none the last. Empty where none has a cause.
  std::vector<DivergeFinding> ExplainEach(std::span<const int64_t> results, size_t most) const;

  // Fails when it is stopped, or two minutes from its making are over.
  Status CheckTime() const;

 private:
  using Clock = std::chrono::steady_clock;

  const std::shared_ptr<const hlo::Module>& module_;
  const RunSpec& request_;
  const RunReport& plain_;
  const std::stop_token& stop_;
  const Clock::time_point end_ = Clock::now() + std::chrono::minutes(2);
};

}  // namespace hloscope::debug
