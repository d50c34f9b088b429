// One run of the whole module for a verdict.
#include "core/debug/explain/diverge/plain_run.h"

namespace hloscope::debug {

DivergeVerdict VerdictOn(const RunSpec& request) {
  DivergeVerdict verdict;
  verdict.platform = request.test.name;
  verdict.reference = request.reference.name;
  verdict.seed = request.inputs.seed;
  verdict.inputs_generated = request.inputs.are_generated();
  return verdict;
}

Result<RunReport> RunPlain(const std::shared_ptr<const hlo::Module>& module, const RunSpec& request,
                           const RunSinks& sinks, DivergeVerdict& verdict,
                           const std::stop_token& stop) {
  RunSpec plain = request;
  plain.compare.isolate = false;
  plain.repeats.iterations = plain.repeats.runs = 1;
  plain.execution.names_refused = true;
  RunReport report = RunModule(module, plain, sinks, stop);
  verdict.warnings = report.warnings;
  if (report.error) return std::unexpected(*report.error);
  return report;
}

}  // namespace hloscope::debug
