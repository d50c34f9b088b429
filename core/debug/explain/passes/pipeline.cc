// Reading every stage that is there.
#include "core/debug/explain/passes/pipeline.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/analysis/programs/stage_texts.h"
#include "core/backends/ahead/own_compile.h"
#include "core/backends/pjrt/compile_module.h"
#include "core/base/counted.h"
#include "core/base/scratch_folder.h"
#include "core/debug/explain/passes/result_sharding.h"
#include "core/dump/complete_module.h"
#include "core/dump/load.h"
#include "core/dump/stage_files.h"
#include "core/dump/tensors/given_constants.h"
#include "core/dump/tensors/npz.h"
#include "core/hlo/analysis/summary.h"
#include "core/replay/platform_table.h"
#include "core/replay/run_targets.h"

namespace hloscope::debug {
namespace {

// The constants that have values in an .npz, stage by stage.
class StageConstants {
 public:
  explicit StageConstants(const std::string& path) : path_(path) {}

  // Constants of which no array is, or that one does not fit, keep what they have. Input error: no
  // .npz.
  Result<std::shared_ptr<const hlo::Module>> GiveTo(
      const std::shared_ptr<const hlo::Module>& module, const std::string& stage,
      const Limits& limits) {
    if (path_.empty() || hlo::ElidedConstants(*module).empty()) return module;
    ++elided_;
    HLOSCOPE_ASSIGN_OR_RETURN(dump::FittingConstants given,
                              dump::GiveFittingConstants(module, path_, limits));
    taken_ += given.taken;
    for (const std::string& misfit : given.misfits) {
      auto& [first, count] = misfits_[misfit];
      if (count++ == 0) first = stage;
    }
    return std::move(given.module);
  }

  // What was not taken, each once.
  std::vector<std::string> Notes() const {
    std::vector<std::string> notes;
    for (const auto& [misfit, where] : misfits_) {
      const auto& [first, count] = where;
      notes.push_back(fmt::format("{}: not taken in {}{}", misfit, first,
                                  count == 1 ? "" : " and " + Counted(count - 1, "later stage")));
    }
    if (elided_ > 0 && taken_ == 0 && misfits_.empty()) {
      notes.push_back(fmt::format("{}: no array is of an elided constant of a stage", path_));
    }
    return notes;
  }

 private:
  std::string path_;  // empty: none have
  size_t elided_ = 0, taken_ = 0;
  std::map<std::string, std::pair<std::string, size_t>> misfits_;  // the first stage, how many
};

Result<std::shared_ptr<const hlo::Module>> ReadStage(const dump::DumpModel& model, int32_t file,
                                                     const Limits& limits,
                                                     StageConstants& constants,
                                                     std::set<std::string>& notes) {
  HLOSCOPE_ASSIGN_OR_RETURN(const dump::LoadedModule loaded,
                            dump::LoadSoundModule(model.FullPath(file), limits));
  const dump::CompletedModule completed = dump::CompleteFromDump(loaded, limits);
  notes.insert(completed.notes.begin(), completed.notes.end());
  return constants.GiveTo(completed.module, model.files()[static_cast<size_t>(file)].path, limits);
}

// The compiler of the request's platform writes its dump to `folder`. The form that it was given.
Result<std::shared_ptr<const hlo::Module>> WriteStages(
    const std::shared_ptr<const hlo::Module>& module, const RunSpec& request,
    const std::string& folder, const std::stop_token& stop) {
  if (replay::IsOwnCompiler(request.test.name)) {
    replay::OwnCompileRequest own;
    own.dump = folder;
    own.passes = true;
    own.xla_flags = request.test.xla_flags;
    own.limits = request.limits;
    HLOSCOPE_TRY(replay::OwnCompile(*module, own, stop));
    return module;
  }
  replay::CompileModuleRequest compile;
  compile.options = TestOptions(request);
  compile.platform = request.test.name;
  const replay::PlatformRow* const row = replay::FindPlatform(request.test.name);
  if (row != nullptr && row->Has(replay::kRunsDumps)) {
    compile.platform = replay::PlatformWith(replay::kTargets)->name;
    compile.target = request.load.gpu_target;
  }
  compile.passes = true;
  compile.dump = folder;
  HLOSCOPE_ASSIGN_OR_RETURN(const replay::CompileModuleReport report,
                            replay::CompileModule(module, compile, stop));
  return report.form;
}

}  // namespace

Result<Pipeline> ReadPipeline(const dump::DumpModel& model, int32_t module, const Limits& limits,
                              const std::string& constants) {
  if (!constants.empty()) {
    HLOSCOPE_ASSIGN_OR_RETURN(FileParts file, FileParts::Open(constants, limits));
    HLOSCOPE_TRY(dump::NpzArchive::Open(std::move(file), limits));
  }
  Pipeline pipeline;
  StageConstants given(constants);
  std::set<std::string> notes;
  std::vector<std::string> differing;
  analysis::ProgramReader reader(limits);
  ResultSharding results(limits);
  const dump::ModuleEntry& entry = model.modules()[static_cast<size_t>(module)];
  if (entry.is_mixed) {
    return std::unexpected(Error{ErrorClass::kUnsupported, entry.several_runs, {}, {}});
  }
  if (!entry.several_runs.empty()) notes.insert(entry.several_runs);
  for (size_t s = 0; s < entry.stages.size(); ++s) {
    const dump::StageEntry& stage = entry.stages[s];
    const std::vector<int32_t> files = dump::ModuleFiles(model, module, static_cast<int32_t>(s));
    if (files.empty()) continue;
    const int32_t file = files.front();
    const std::string& path = model.files()[static_cast<size_t>(file)].path;
    const std::string& pass = stage.pass.empty() ? stage.name : stage.pass;
    const auto step_over = [&](std::string_view why) {
      pipeline.unread.push_back({pass, fmt::format("{}: {}", path, why), pipeline.stages.size()});
    };
    auto read = ReadStage(model, file, limits, given, notes);
    if (!read) {
      step_over(read.error().message);
      continue;
    }
    for (std::string& note :
         analysis::CompareStageTexts(model, module, static_cast<int32_t>(s), reader).notes)
      differing.push_back(std::move(note));
    auto complete = results.Complete(*std::move(read));
    if (complete == nullptr) {
      step_over("the sharding of its results is unknown (dump with --xla_dump_hlo_as_proto)");
      continue;
    }
    pipeline.stages.push_back({stage.name, pass, stage.pipeline, path, std::move(complete)});
  }
  pipeline.notes.assign(notes.begin(), notes.end());
  for (std::string& note : given.Notes()) pipeline.notes.push_back(std::move(note));
  pipeline.notes.insert(pipeline.notes.end(), differing.begin(), differing.end());
  if (auto noted = dump::ProvenanceOf(model, module)) {
    pipeline.provenance = *std::move(noted);
  } else {
    pipeline.notes.push_back(noted.error().ToString() + "; links between stages are guessed");
  }
  if (pipeline.stages.empty()) {
    return InputError(model.path() + ": no stage of the module can be read",
                      pipeline.unread.empty() ? "`hloscope info` shows what is there"
                                              : pipeline.unread.front().text);
  }
  return pipeline;
}

Result<OwnPipeline> CompilePipeline(const std::shared_ptr<const hlo::Module>& module,
                                    const RunSpec& request, const std::stop_token& stop) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto folder, ScratchFolder::Make());
  OwnPipeline own;
  const auto form = WriteStages(module, request, folder.path(), stop);
  if (!form) own.failed = form.error();
  const auto model = dump::DumpModel::Open(folder.path(), request.limits);
  if (!model || (*model)->modules().empty()) {
    return std::unexpected(
        own.failed.value_or(Error{ErrorClass::kInternal, "the compiler dumped no module", {}, {}}));
  }
  auto pipeline = ReadPipeline(**model, 0, request.limits);
  if (!pipeline) return std::unexpected(own.failed.value_or(pipeline.error()));
  own.pipeline = *std::move(pipeline);
  if (form && *form != module) own.pipeline.form = *form;
  return own;
}

}  // namespace hloscope::debug
