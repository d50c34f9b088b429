// Searching the guilty pass, or the place where two platforms diverge, in the background.
#include "viewer/model/pass_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/debug/explain/passes/explain_platforms.h"
#include "core/debug/explain/passes/find_pass.h"
#include "core/hlo/analysis/find_instruction.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/experiment.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/model/task_cache.h"
#include "viewer/model/tasks.h"

namespace hloscope::viewer {
namespace {

using debug::DivergeVerdict;

using PendingVerdict = Pending<DivergeVerdict>;

Computed<DivergeVerdict> SearchPasses(const dump::DumpModel& dump, int32_t module,
                                      const debug::RunSpec& request, const std::stop_token& stop) {
  HLOSCOPE_ASSIGN_OR_RETURN(const debug::Pipeline pipeline,
                            debug::ReadPipeline(dump, module, dump.limits()));
  debug::StageValues values(request, stop);
  const auto& first = pipeline.stages.front().module;
  HLOSCOPE_ASSIGN_OR_RETURN(const debug::Leaves results, values.Begin(first));
  return std::make_shared<const DivergeVerdict>(
      debug::FindGuiltyPass(values, results, first, pipeline, stop));
}

Computed<DivergeVerdict> ComparePlatforms(const dump::DumpModel& dump, int32_t index,
                                          const VerdictQuestion& question, debug::RunSpec request,
                                          TaskControl& control) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto module, dump.Module(index, question.stage));
  request.test.name = question.platform;
  request.reference.name = question.reference;
  request.compare.bounds = {question.absolute, question.relative};
  if (!question.inputs.empty()) request.inputs.files = {question.inputs};
  debug::RunSinks sinks;
  sinks.on_progress = [&control](const replay::RunProgress& progress) {
    control.Progress(progress.done, progress.total);
  };
  DivergeVerdict verdict = debug::ExplainPlatforms(module, request, control.stop(), sinks);
  if (control.stopped()) return std::unexpected(Error{ErrorClass::kCancelled, "cancelled", {}, {}});
  const bool is_refused =
      !verdict.errors.empty() && verdict.passes.empty() && !verdict.place && !verdict.cause;
  if (is_refused) return std::unexpected(verdict.errors.front());
  verdict.platform = request.test.name;
  verdict.reference = request.reference.name;
  verdict.seed = request.inputs.seed;
  return std::make_shared<const DivergeVerdict>(std::move(verdict));
}

void StartSearch(Context& context, int32_t module, const VerdictQuestion& question) {
  std::erase_if(context.marks.Of<AskedVerdicts>().all, [&](const AskedVerdict& asked) {
    if (asked.module != module) return false;
    if (asked.verdict->waiting()) context.tasks.Cancel(asked.verdict->task);
    return true;
  });
  auto verdict = std::make_shared<PendingVerdict>();
  verdict->state = PendingState::kWaiting;
  verdict->task = context.tasks.Start(
      SearchTitle(question),
      [dump = context.document.dump().value, module, question, verdict,
       workers = context.experiment.workers()](TaskControl& control) -> Tasks::Finish {
        debug::RunSpec request;
        request.inputs.seed = question.seed;
        request.limits = dump->limits();
        request.execution.workers = workers;
        auto found = std::make_shared<Computed<DivergeVerdict>>(Guarded<DivergeVerdict>(
            [&](TaskControl& c) {
              return question.is_of_platforms()
                         ? ComparePlatforms(*dump, module, question, request, c)
                         : SearchPasses(*dump, module, request, c.stop());
            },
            control));
        return [verdict, found] { verdict->Settle(std::move(*found)); };
      });
  context.marks.Of<AskedVerdicts>().all.push_back(
      {.place = AnchorOfStage(*context.document.dump(), module,
                              question.is_of_platforms() ? question.stage : -1),
       .module = module,
       .question = question,
       .since = std::chrono::steady_clock::now(),
       .verdict = std::move(verdict)});
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

void AskedVerdicts::Rebase(const dump::DumpModel& /*before*/, const dump::DumpModel& now,
                           std::vector<std::string>& lost) {
  for (AskedVerdict& asked : all) {
    const Place found = FindPlace(now, asked.place);
    asked.module = found.module;
    if (asked.question.is_of_platforms()) asked.question.stage = found.stage;
    if (found.module < 0) lost.push_back("verdict on " + ToString(asked.place));
  }
}

void SearchPass(Context& context, int32_t module, uint64_t seed) {
  VerdictQuestion question;
  question.seed = seed;
  StartSearch(context, module, question);
}

void SearchDivergence(Context& context, int32_t module, const VerdictQuestion& question) {
  StartSearch(context, module, question);
}

const AskedVerdict* AskedOn(Context& context, int32_t module) {
  const auto& all = context.marks.Of<AskedVerdicts>().all;
  const auto asked = std::ranges::find(all, module, &AskedVerdict::module);
  return module < 0 || asked == all.end() ? nullptr : &*asked;
}

std::string SearchTitle(const VerdictQuestion& question) {
  if (!question.is_of_platforms()) return "finding the pass that changed the results";
  return fmt::format("comparing the values inside the module on {} and {}", question.platform,
                     question.reference);
}

const Pending<DivergeVerdict>* VerdictOn(Context& context, int32_t module) {
  if (!context.document.dump().ready() || module < 0) return nullptr;
  if (const AskedVerdict* asked = AskedOn(context, module)) {
    return asked->verdict.get();
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
