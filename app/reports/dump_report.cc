// Gathering a report: the model, its figures, and where each compiled module runs.
#include "app/reports/dump_report.h"

#include "app/dump_place.h"
#include "core/base/jobs.h"
#include "core/debug/recompile/dump_recompilations.h"
#include "core/dump/listing/listing.h"

namespace hloscope::app {
namespace {

// Takes the parts that are known; gives by module whether one was.
std::vector<char> TakeKnown(const std::vector<dump::FileKey>& keys, const ReportParts* known,
                            DumpReport& report) {
  std::vector<char> taken(keys.size());
  for (size_t m = 0; known != nullptr && m < keys.size(); ++m) {
    const ModulePart* part = known->Find(keys[m]);
    if (part == nullptr) continue;
    report.parts[m] = *part;
    taken[m] = 1;
  }
  return taken;
}

void Place(const dump::DumpModel& model, size_t at, DumpReport& report) {
  auto m = static_cast<int32_t>(at);
  auto module = model.Module(m, model.FinalStage(m));
  if (!module) return;
  report.compiled[at] = *module;
  report.placements[at] = analysis::PlacementIn(model, m, **module);
  // Where the first stage cannot be read, the operations are those of the compiled one.
  auto first = model.Module(m, 0);
  report.overviews[at] =
      graph::MakeOverview(first ? **first : **module, **module, report.placements[at]);
}

// Fingerprints of all stages of the modules that are not `taken`, several stages at a time.
Status AddPrograms(const dump::DumpModel& model, const std::vector<char>& taken, int jobs,
                   const std::stop_token& stop, DumpReport& report) {
  std::vector<std::pair<size_t, size_t>> stages;
  report.programs.resize(model.modules().size());
  for (size_t m = 0; m < report.programs.size(); ++m) {
    if (taken[m] != 0) continue;
    report.programs[m].resize(model.modules()[m].stages.size());
    for (size_t s = 0; s < report.programs[m].size(); ++s) stages.emplace_back(m, s);
  }
  analysis::ProgramReader reader(model.limits());
  const auto read = [&](int64_t k) {
    const auto [m, s] = stages[static_cast<size_t>(k)];
    const int32_t at = model.ModuleFile(static_cast<int32_t>(m), static_cast<int32_t>(s));
    if (at < 0) return;
    // That it cannot be read is among the warnings of the summary.
    const Result<FileView> file = model.OpenFile(at);
    const Result<analysis::ReadProgram> program =
        file ? reader.Read(*file) : std::unexpected(file.error());
    if (program) report.programs[m][s] = *program;
  };
  return ParallelFor(std::ssize(stages), jobs, read, stop);
}

}  // namespace

Result<DumpReport> MakeDumpReport(const std::string& path, const Limits& limits,
                                  const dump::OpenOptions& options, ReportForm form,
                                  const ReportParts* known, ReportParts* next,
                                  const std::string& only_module) {
  DumpReport report;
  HLOSCOPE_ASSIGN_OR_RETURN(report.model, dump::DumpModel::Open(path, limits, options));
  const dump::DumpModel& model = *report.model;
  const size_t count = model.modules().size();
  report.compiled.resize(count);
  report.placements.resize(count);
  report.overviews.resize(count);
  report.parts.resize(count);
  std::vector<dump::FileKey> keys;
  for (size_t m = 0; options.listing != nullptr && m < count; ++m)
    keys.push_back(KeyOfModule(model, m, options.listing->keys));
  std::vector<char> taken = TakeKnown(keys, known, report);
  taken.resize(count);
  if (!only_module.empty()) {
    HLOSCOPE_ASSIGN_OR_RETURN(report.only, FindModule(model, only_module));
    const char wanted = taken[static_cast<size_t>(report.only)];
    taken.assign(count, 1);
    taken[static_cast<size_t>(report.only)] = wanted;
  }
  HLOSCOPE_ASSIGN_OR_RETURN(report.summary, dump::Summarize(model, options, taken));
  int jobs = options.jobs > 0 ? options.jobs : AvailableCpus();
  if (form == ReportForm::kJson)
    HLOSCOPE_TRY(AddPrograms(model, taken, jobs, options.stop, report));
  auto finish = [&](int64_t k) {
    auto at = static_cast<size_t>(k);
    if (taken[at] != 0) return;
    Place(model, at, report);
    report.parts[at] = form == ReportForm::kJson ? JsonPart(report, at) : TextPart(report, at);
  };
  HLOSCOPE_TRY(ParallelFor(static_cast<int64_t>(count), jobs, finish, options.stop));
  if (report.only < 0) report.recompilations = debug::RecompilationsIn(model);
  // What was lost must be said again, so it is read again.
  for (size_t m = 0; next != nullptr && m < keys.size(); ++m) {
    if (report.summary.lossy[m] == 0) next->Add(keys[m], report.parts[m]);
  }
  return report;
}

}  // namespace hloscope::app
