// One run of the whole module for a verdict.
#include "core/debug/explain/diverge/plain_run.h"

namespace hloscope::debug {

DivergeVerdict VerdictOn(const RunRequest& request) {
  DivergeVerdict verdict;
  verdict.platform = request.platform;
  verdict.reference = request.reference_platform;
  verdict.seed = request.seed;
  return verdict;
}

Result<RunReport> RunPlain(const std::shared_ptr<const hlo::Module>& module,
                           const RunRequest& request, DivergeVerdict& verdict,
                           const std::stop_token& stop) {
  RunRequest plain = request;
  plain.isolate = false;
  plain.iterations = plain.repeat = 1;
  RunReport report = RunModule(module, plain, stop);
  verdict.warnings = report.warnings;
  if (report.error) return std::unexpected(*report.error);
  return report;
}

}  // namespace hloscope::debug
