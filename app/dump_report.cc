// Gathering a report: the model, its figures, and where each compiled module runs.
#include "app/dump_report.h"

#include "core/base/jobs.h"

namespace hloscope::app {

Result<DumpReport> MakeDumpReport(const std::string& path, const Limits& limits,
                                  const dump::OpenOptions& options) {
  DumpReport report;
  HLOSCOPE_ASSIGN_OR_RETURN(report.model, dump::DumpModel::Open(path, limits, options));
  const dump::DumpModel& model = *report.model;
  HLOSCOPE_ASSIGN_OR_RETURN(report.summary, dump::Summarize(model, options));
  report.compiled.resize(model.modules().size());
  report.placements.resize(model.modules().size());
  int jobs = options.jobs > 0 ? options.jobs : AvailableCpus();
  HLOSCOPE_TRY(ParallelFor(
      static_cast<int64_t>(model.modules().size()), jobs,
      [&](int64_t k) {
        auto at = static_cast<size_t>(k);
        auto m = static_cast<int32_t>(k);
        auto module = model.Module(m, model.FinalStage(m));
        if (!module) return;
        report.compiled[at] = *module;
        report.placements[at] =
            debug::FindPlacement(**module, debug::TargetNamed(model.modules()[at].device));
      },
      options.stop));
  return report;
}

}  // namespace hloscope::app
