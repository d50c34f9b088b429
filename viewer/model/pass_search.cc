// Searching the guilty pass in the background.
#include "viewer/model/pass_search.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/debug/passes/find_pass.h"
#include "core/hlo/analysis/find_instruction.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/experiment.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {
namespace {

using debug::DivergeVerdict;

struct SearchKey {
  using Value = DivergeVerdict;
  int32_t module = -1;
  uint64_t seed = 0;
  auto operator<=>(const SearchKey&) const = default;
};

Computed<DivergeVerdict> SearchPasses(const dump::DumpModel& dump, int32_t module,
                                      const debug::RunRequest& request,
                                      const std::stop_token& stop) {
  HLOSCOPE_ASSIGN_OR_RETURN(const debug::Pipeline pipeline,
                            debug::ReadPipeline(dump, module, dump.limits()));
  debug::StageValues values(request, stop);
  const auto& first = pipeline.stages.front().module;
  HLOSCOPE_ASSIGN_OR_RETURN(const debug::Leaves results, values.Begin(first));
  return std::make_shared<const DivergeVerdict>(
      debug::FindGuiltyPass(values, results, first, pipeline, stop));
}

const Pending<DivergeVerdict>& Searched(Context& context, const SearchKey& key) {
  return context.cache.Get(key, "finding the pass that changed the numbers",
                           [dump = context.document.dump().value, key,
                            workers = context.experiment.workers()](TaskControl& control) {
                             debug::RunRequest request;
                             request.seed = key.seed;
                             request.limits = dump->limits();
                             request.workers = workers;
                             return SearchPasses(*dump, key.module, request, control.stop());
                           });
}

// By the stages that it names; where those are not here, if it came with the one module.
bool IsAbout(const Document& document, int32_t module) {
  const dump::DumpModel& dump = *document.dump();
  const DivergeVerdict& verdict = *document.verdict();
  const bool is_only = dump.modules().size() == 1;
  if (verdict.passes.empty()) return is_only;
  return StageOfFile(dump, module, verdict.passes.front().file_after) >= 0 ||
         (is_only && document.verdict_is_own());
}

}  // namespace

void SearchPass(Context& context, int32_t module, uint64_t seed) {
  const auto asked = context.marks.searched_seeds.find(module);
  if (asked != context.marks.searched_seeds.end()) {
    context.cache.Drop(SearchKey{module, asked->second});
  }
  context.marks.searched_seeds[module] = seed;
  Searched(context, {module, seed});
}

const Pending<DivergeVerdict>* VerdictOn(Context& context, int32_t module) {
  if (!context.document.dump().ready() || module < 0) return nullptr;
  const auto asked = context.marks.searched_seeds.find(module);
  if (asked != context.marks.searched_seeds.end()) {
    return &Searched(context, {module, asked->second});
  }
  const Pending<DivergeVerdict>& kept = context.document.verdict();
  if (!kept.ready() || !IsAbout(context.document, module)) return nullptr;
  return &kept;
}

int32_t StageOfFile(const dump::DumpModel& dump, int32_t module, std::string_view file) {
  const dump::ModuleEntry& entry = dump.modules()[static_cast<size_t>(module)];
  const std::filesystem::path wanted = std::filesystem::path(file).filename();
  for (size_t s = 0; s < entry.stages.size(); ++s) {
    for (const int32_t each : entry.stages[s].files) {
      const std::string& path = dump.files()[static_cast<size_t>(each)].path;
      if (std::filesystem::path(path).filename() == wanted) return static_cast<int32_t>(s);
    }
  }
  return -1;
}

std::vector<int32_t> GuiltyStages(Context& context, int32_t module) {
  std::vector<int32_t> stages;
  const Pending<DivergeVerdict>* verdict = VerdictOn(context, module);
  if (verdict == nullptr || !verdict->ready()) return stages;
  for (const debug::PassBlame& blame : (*verdict)->passes) {
    const int32_t stage = StageOfFile(*context.document.dump(), module, blame.file_after);
    if (stage >= 0) stages.push_back(stage);
  }
  return stages;
}

void SelectBlame(Context& context, int32_t module, const debug::PassBlame& blame) {
  const dump::DumpModel& dump = *context.document.dump();
  const int32_t after = StageOfFile(dump, module, blame.file_after);
  if (after < 0) return;
  const Pending<hlo::Module>& read = context.data.Module(module, after);
  if (blame.place && read.ready()) {
    const hlo::InstructionId id =
        hlo::FindInstruction(*read, blame.place->computation + ":" + blame.place->instruction);
    if (id.valid()) return context.navigation.Select(Selection::OfInstruction(module, after, id));
  }
  context.navigation.Select(Selection::OfStage(module, after));
}

std::string SelectionOf(const dump::DumpModel& dump, const DivergeVerdict& verdict) {
  if (verdict.passes.empty()) return {};
  const debug::PassBlame& blame = verdict.passes.front();
  for (size_t m = 0; m < dump.modules().size(); ++m) {
    const int32_t stage = StageOfFile(dump, static_cast<int32_t>(m), blame.file_after);
    if (stage < 0) continue;
    const dump::ModuleEntry& entry = dump.modules()[m];
    std::string text = entry.id < 0 ? entry.name : fmt::format("{}.{}", entry.id, entry.name);
    text += "@" + entry.stages[static_cast<size_t>(stage)].name;
    return blame.place ? text + ":" + blame.place->instruction : text;
  }
  return {};
}

}  // namespace hloscope::viewer
