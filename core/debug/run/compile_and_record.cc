// The dump first, then a few recorded runs.
#include "core/debug/run/compile_and_record.h"

#include "core/base/jobs.h"
#include "core/debug/run/run_module.h"
#include "core/debug/run/run_recorder.h"

namespace hloscope::debug {
namespace {

// Runs of which the profile consists: the first finds nothing in the caches.
constexpr int64_t kRecordedRuns = 3;

Status Record(const std::shared_ptr<const hlo::Module>& module, RunSpec request,
              const std::string& folder, const std::stop_token& stop) {
  RunRecorder recorder;
  RunSinks sinks;
  sinks.recorder = &recorder;
  request.repeats.runs = kRecordedRuns;
  const RunReport report = RunModule(module, request, sinks, stop);
  if (report.error) return std::unexpected(*report.error);
  HLOSCOPE_ASSIGN_OR_RETURN(const auto profile, recorder.Finish(SharedJobs(AvailableCpus())));
  HLOSCOPE_TRY(profiler::WriteProfile({*profile, nullptr, folder + "/run.hloprof"}));
  return {};
}

}  // namespace

Result<RecordedCompilation> CompileAndRecord(const std::shared_ptr<const hlo::Module>& module,
                                             const RunSpec& request, const std::string& folder,
                                             const std::string& program,
                                             const std::stop_token& stop) {
  const replay::OwnCompileRequest own{.dump = folder,
                                      .passes = true,
                                      .wants_module = false,
                                      .xla_flags = request.test.xla_flags,
                                      .limits = request.limits,
                                      .program = program};
  RecordedCompilation compiled;
  HLOSCOPE_ASSIGN_OR_RETURN(compiled.report, replay::OwnCompile(*module, own, stop));
  compiled.recorded = Record(module, request, folder, stop);
  return compiled;
}

}  // namespace hloscope::debug
