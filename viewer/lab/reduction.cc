// Reducing in the background.
#include "viewer/lab/reduction.h"

#include <filesystem>

#include "core/base/jobs.h"
#include "core/debug/record/unused_path.h"
#include "core/debug/reduce/write_candidate.h"
#include "viewer/model/document.h"
#include "viewer/model/experiment.h"
#include "viewer/model/marks.h"
#include "viewer/model/messages.h"
#include "viewer/model/task_cache.h"
#include "viewer/model/tasks.h"

namespace hloscope::viewer {
namespace {

debug::ReduceReport Refused(Error error) {
  debug::ReduceReport report;
  report.error = std::move(error);
  return report;
}

debug::ReduceReport Reduce(const dump::DumpModel& dump, const FailingRun& run,
                           const std::shared_ptr<Reduction::Feed>& feed, TaskControl& control) {
  auto module = dump.Module(run.module, run.stage);
  if (!module) return Refused(module.error());
  {
    const std::lock_guard lock(feed->mutex);
    feed->progress.before = feed->progress.instructions = (*module)->instructions().size();
  }
  debug::ReduceRequest request;
  request.run = run.request;
  request.run.limits = dump.limits();
  request.jobs = static_cast<int>(AvailableCpus());
  request.on_progress = [feed](const debug::SearchProgress& search) {
    const std::lock_guard lock(feed->mutex);
    feed->progress.reduction = search.reduction;
    feed->progress.tries = search.tries;
  };
  request.on_better = [feed](const debug::Candidate& candidate, const debug::Failure& failure) {
    const std::lock_guard lock(feed->mutex);
    ReductionProgress& progress = feed->progress;
    progress.smallest = candidate.module;
    progress.instructions = candidate.module->instructions().size();
    progress.failure = failure.text;
    progress.steps.push_back({progress.tries, progress.instructions});
  };
  return debug::ReduceModule(*module, request, control.stop());
}

void Take(Reduction& reduction, Computed<debug::ReduceReport>& report) {
  Pending<debug::ReduceReport>& pending = reduction.report;
  pending.state = report && !(*report)->error ? PendingState::kReady : PendingState::kFailed;
  if (!report) {
    pending.error = report.error();
  } else if ((*report)->error) {
    pending.error = *(*report)->error;
  } else {
    pending.value = *report;
  }
}

}  // namespace

void Reductions::Rebase(const dump::DumpModel& /*before*/, const dump::DumpModel& now,
                        std::vector<std::string>& lost) {
  for (const std::shared_ptr<Reduction>& reduction : all) {
    const Place found = FindPlace(now, reduction->place);
    reduction->run.module = found.module;
    reduction->run.stage = found.stage;
    if (found.module < 0) lost.push_back("reduction of " + ToString(reduction->place));
  }
}

ReductionProgress Reduction::Progress() const {
  const std::lock_guard lock(feed->mutex);
  return feed->progress;
}

void StartReduction(Context& context, int32_t module) {
  if (!context.document.dump().ready()) return;
  const std::optional<FailingRun> run = FailingRunOf(context, module);
  if (!run) {
    return context.messages.Post(
        Severity::kNote,
        "nothing to reduce: run the module on the screen Divergence first, or open a verdict");
  }
  StopReduction(context, module);
  auto reduction = std::make_shared<Reduction>();
  reduction->run = *run;
  reduction->report.state = PendingState::kWaiting;
  FailingRun own = *run;
  own.request.execution.workers = context.experiment.MakeWorkers(static_cast<int>(AvailableCpus()));
  reduction->report.task = context.tasks.Start(
      "reducing the module",
      [dump = context.document.dump().value, own, reduction,
       feed = reduction->feed](TaskControl& control) -> Tasks::Finish {
        auto report = std::make_shared<Computed<debug::ReduceReport>>(Guarded<debug::ReduceReport>(
            [&](TaskControl& c) -> Computed<debug::ReduceReport> {
              return std::make_shared<const debug::ReduceReport>(Reduce(*dump, own, feed, c));
            },
            control));
        return [reduction, report] { Take(*reduction, *report); };
      });
  reduction->place = AnchorOfStage(*context.document.dump(), run->module, run->stage);
  std::erase_if(context.marks.Of<Reductions>().all,
                [&](const auto& known) { return known->run.module == module; });
  context.marks.Of<Reductions>().all.push_back(std::move(reduction));
}

void StopReduction(Context& context, int32_t module) {
  const Reduction* reduction = ReductionOn(context, module);
  if (reduction != nullptr && reduction->report.waiting()) {
    context.tasks.Cancel(reduction->report.task);
  }
}

const Reduction* ReductionOn(Context& context, int32_t module) {
  for (const std::shared_ptr<Reduction>& reduction : context.marks.Of<Reductions>().all) {
    if (module >= 0 && reduction->run.module == module) return reduction.get();
  }
  return nullptr;
}

Result<std::string> SaveReduced(const debug::ReduceReport& report, const std::string& path) {
  std::string inputs = UnusedPath(std::filesystem::path(path).replace_extension(".npz").string());
  HLOSCOPE_ASSIGN_OR_RETURN(
      const bool has_inputs,
      debug::WriteCandidate(report.smallest, report.inputs_from_seed, path, inputs));
  return has_inputs ? inputs : std::string();
}

}  // namespace hloscope::viewer
