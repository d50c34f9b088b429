// Threads traced in tasks.
#include "viewer/lab/thread_trace.h"

#include <charconv>
#include <optional>
#include <utility>

#include "core/debug/run/run_module.h"
#include "core/replay/platform_table.h"
#include "viewer/model/anchor.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/experiment.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {
namespace {

struct ThreadKey : ThreadChoice {
  using Value = TracedThread;
  auto operator<=>(const ThreadKey&) const = default;
};

struct Job {
  std::shared_ptr<const dump::DumpModel> dump;
  ThreadChoice choice;
  std::string kernel;
  debug::RunSpec request;
};

Computed<TracedThread> Trace(const Job& job, const std::stop_token& stop) {
  HLOSCOPE_ASSIGN_OR_RETURN(
      const std::shared_ptr<const hlo::Module> module,
      job.dump->Module(job.choice.module, job.dump->FinalStage(job.choice.module)));
  HLOSCOPE_ASSIGN_OR_RETURN(debug::TracedThread traced,
                            debug::TraceThread(module, job.request, job.kernel, job.choice.block,
                                               job.choice.thread, stop));
  return std::make_shared<TracedThread>(std::move(traced), InputsText(job.request));
}

// As the last run of the module was given its inputs.
debug::RunSpec RequestFor(Context& context, int32_t module) {
  debug::RunSpec request;
  const Experiment& experiment = context.experiment;
  if (experiment.report() != nullptr && experiment.request().module_index == module) {
    request = debug::DerivedSpec(experiment.request(), experiment.request().test,
                                 experiment.request().inputs);
  }
  request.test.name = replay::PlatformWith(replay::kRunsDumps)->name;
  request.load.gpu_target.clear();
  request.checks = {.shuffle = request.checks.shuffle};
  request.execution.workers = experiment.workers();
  const dump::DumpModel& dump = *context.document.dump();
  if (const int32_t file = dump.ModuleFile(module, dump.FinalStage(module)); file >= 0)
    request.load.module_file = dump.FullPath(file);
  return request;
}

}  // namespace

void ThreadMarks::Rebase(const dump::DumpModel& before, const dump::DumpModel& now,
                         std::vector<std::string>& /*lost*/) {
  if (!wanted || wanted->module < 0) return wanted.reset();
  wanted->module = FindModule(now, AnchorOfModule(before, wanted->module));
}

const Pending<TracedThread>* ThreadTraceOf(Context& context, const ThreadChoice& choice) {
  return context.cache.Find(ThreadKey{choice});
}

void AskThreadTrace(Context& context, const ThreadChoice& choice) {
  const Pending<dump::KernelTable>& kernels = context.data.Kernels(choice.module);
  if (!kernels.ready() || choice.kernel < 0 || choice.kernel >= std::ssize(kernels->kernels))
    return;
  const ThreadKey key{choice};
  if (const auto* known = context.cache.Find(key); known != nullptr && known->failed())
    context.cache.Drop(key);
  const std::string& name = kernels->kernels[static_cast<size_t>(choice.kernel)].name;
  Job job{context.document.dump().value, choice, name, RequestFor(context, choice.module)};
  context.cache.Get(
      key, "tracing a thread of " + name,
      [job = std::move(job)](TaskControl& control) { return Trace(job, control.stop()); });
}

std::optional<std::array<uint32_t, 3>> IndexOf(std::string_view text) {
  std::array<uint32_t, 3> index{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (uint32_t& number : index) {
    while (at != end && *at == ' ') ++at;
    const auto [stopped, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return std::nullopt;
    at = stopped;
    while (at != end && *at == ' ') ++at;
    if (at == end) return index;
    if (*at++ != ',') return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace hloscope::viewer
