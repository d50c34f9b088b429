// Compiling with a dump, and looking at it.
#include "core/debug/passes/own_passes.h"

#include "core/debug/passes/explain_run.h"
#include "core/debug/passes/find_pass.h"

namespace hloscope::debug {
namespace {

Result<DivergeVerdict> Explain(const std::shared_ptr<const hlo::Module>& module,
                               const RunRequest& request, const std::stop_token& stop) {
  HLOSCOPE_ASSIGN_OR_RETURN(const OwnPipeline own, CompilePipeline(module, request, stop));
  if (own.failed) return std::unexpected(*own.failed);
  StageValues values(request, stop);
  HLOSCOPE_ASSIGN_OR_RETURN(const Leaves results, values.Begin(module));
  DivergeVerdict verdict = FindGuiltyPass(values, results, module, own.pipeline, stop);
  PlatformTries tries(module, request, values, results, stop);
  ExplainRun(verdict, tries, values, own.pipeline, stop);
  return verdict;
}

}  // namespace

DivergeVerdict ExplainByOwnPasses(const std::shared_ptr<const hlo::Module>& module,
                                  const RunRequest& request, const std::stop_token& stop) {
  Result<DivergeVerdict> verdict = Explain(module, request, stop);
  return verdict.has_value() ? *std::move(verdict) : RefusedVerdict(std::move(verdict).error());
}

}  // namespace hloscope::debug
