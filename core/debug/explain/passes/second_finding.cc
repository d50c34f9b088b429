#include "core/debug/explain/passes/second_finding.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/debug/explain/passes/explain_run.h"
#include "core/replay/run_targets.h"

namespace hloscope::debug {

void FindSecondFinding(DivergeVerdict& verdict, const PlatformTries& tries,
                       const std::stop_token& stop) {
  if (verdict.passes.empty() || !verdict.cured_by.empty() || verdict.tries.empty()) return;
  const std::string& pass = verdict.passes.front().pass;
  const XlaFlagList without = {{std::string(replay::kDisablePassesFlag), pass}};
  const int64_t all = verdict.tries.front().mismatched;  // as it is
  const auto own = std::ranges::find(verdict.tries, FlagsText(without), &DivergeTry::what);
  if (own == verdict.tries.end() || own->mismatched <= 0 || own->mismatched >= all) return;
  const int64_t left = own->mismatched;
  RunSpec request = tries.request();
  AddFlags(without, request.test.xla_flags);
  const auto compiled = CompilePipeline(tries.module(), request, stop);
  if (!compiled || compiled->failed) return;
  DivergeVerdict rest;
  for (const UnreadStage& stage : compiled->pipeline.unread)
    rest.stepped_over.push_back(stage.text);
  PlatformTries further(tries.module(), request, tries.values(), tries.expected(), stop);
  ExplainRun(rest, further, tries.values(), compiled->pipeline, stop);
  if (!rest.cause || rest.cured_by.empty()) return;
  verdict.findings = {{.pass = pass,
                       .place = verdict.passes.front().place,
                       .cured_by = {pass},
                       .mismatched = left,
                       .confirmed = verdict.confirmed},
                      OnlyFinding(rest)};
  for (DivergeTry& attempt : rest.tries) {
    if (attempt.closes != true) continue;
    attempt.what += fmt::format(", without {}", pass);
    verdict.tries.push_back(std::move(attempt));
  }
  WriteSentence(verdict);
}

}  // namespace hloscope::debug
