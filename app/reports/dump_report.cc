// Gathering a report: the model, its figures, and where each compiled module runs.
#include "app/reports/dump_report.h"

#include <algorithm>

#include "app/dump_place.h"
#include "core/analysis/programs/stage_texts.h"
#include "core/base/jobs.h"
#include "core/debug/recompile/dump_recompilations.h"
#include "core/dump/listing/listing.h"
#include "core/dump/stage_files.h"

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

// Of the modules that are not `taken`, several stages at a time: the fingerprints of all stages
// where JSON has them, and what texts have otherwise than the protos next to them.
class ProgramTask {
 public:
  ProgramTask(const dump::DumpModel& model, ReportForm form, DumpReport& report)
      : model_(model), form_(form), report_(report), reader_(model.limits()) {}

  Status Run(const std::vector<char>& taken, int jobs, const std::stop_token& stop) {
    report_.programs.resize(model_.modules().size());
    for (size_t m = 0; m < report_.programs.size(); ++m) {
      if (taken[m] == 0) AddStages(m);
    }
    HLOSCOPE_TRY(ParallelFor(
        std::ssize(stages_), jobs, [&](int64_t k) { Read(stages_[static_cast<size_t>(k)]); },
        stop));
    for (const Stage& stage : stages_) {
      if (stage.notes.empty()) continue;
      // That is read again, so that it is said again.
      report_.summary.lossy[static_cast<size_t>(stage.module)] = 1;
      report_.summary.warnings.insert(report_.summary.warnings.end(), stage.notes.begin(),
                                      stage.notes.end());
    }
    std::ranges::sort(report_.summary.warnings);
    return {};
  }

 private:
  struct Stage {
    int32_t module, stage;
    std::vector<std::string> notes;
  };

  void AddStages(size_t m) {
    const auto module = static_cast<int32_t>(m);
    const int32_t count = static_cast<int32_t>(model_.modules()[m].stages.size());
    if (form_ == ReportForm::kJson) {
      report_.programs[m].resize(static_cast<size_t>(count));
      for (int32_t s = 0; s < count; ++s) stages_.push_back({module, s, {}});
    } else {
      for (const int32_t s : analysis::ComparedStages(model_, module))
        stages_.push_back({module, s, {}});
    }
  }

  // The first and the last module are read for what runs where, and kept by the dump: their files
  // need not be read once more. Without a text next to the proto no program is asked for.
  void LearnIfKept(const Stage& stage, int32_t file) {
    const auto kept = analysis::ComparedStages(model_, stage.module);
    if (std::ranges::find(kept, stage.stage) == kept.end()) return;
    const bool is_compared = dump::ModuleFiles(model_, stage.module, stage.stage).size() > 1;
    if (form_ != ReportForm::kJson && !is_compared) return;
    if (model_.files()[static_cast<size_t>(file)].kind != dump::FileKind::kHloProto) return;
    const auto module = model_.Module(stage.module, stage.stage);
    const Result<FileView> bytes = model_.OpenFile(file);
    if (module && bytes) reader_.Learn(*bytes, **module);
  }

  void Read(Stage& stage) {
    const int32_t at = model_.ModuleFile(stage.module, stage.stage);
    if (at < 0) return;
    LearnIfKept(stage, at);
    if (form_ == ReportForm::kJson) {
      // That it cannot be read is among the warnings of the summary.
      const Result<FileView> file = model_.OpenFile(at);
      const Result<analysis::ReadProgram> program =
          file ? reader_.Read(*file) : std::unexpected(file.error());
      if (program) {
        report_.programs[static_cast<size_t>(stage.module)][static_cast<size_t>(stage.stage)] =
            *program;
      }
    }
    stage.notes = analysis::CompareStageTexts(model_, stage.module, stage.stage, reader_).notes;
  }

  const dump::DumpModel& model_;
  ReportForm form_;
  DumpReport& report_;
  analysis::ProgramReader reader_;
  std::vector<Stage> stages_;
};

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
  HLOSCOPE_TRY(ProgramTask(model, form, report).Run(taken, jobs, options.stop));
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
