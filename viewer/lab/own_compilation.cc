// Compiling and recording in a task.
#include "viewer/lab/own_compilation.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <utility>

#include "core/backends/ahead/own_compile.h"
#include "core/base/jobs.h"
#include "core/graph/count_text.h"
#include "core/replay/platform_table.h"
#include "viewer/model/document.h"
#include "viewer/model/experiment.h"
#include "viewer/model/messages.h"
#include "viewer/model/requests.h"
#include "viewer/model/tasks.h"

namespace hloscope::viewer {
namespace {

// Runs of which the profile consists: the first finds nothing in the caches.
constexpr int64_t kRecordedRuns = 3;

struct Compiled {
  std::string folder;
  Result<replay::OwnCompileReport> report = std::unexpected(Error{});
  Status recorded;
};

// The profile lies in the dump, where it is looked for.
Status Record(const std::shared_ptr<const hlo::Module>& module, debug::RunRequest request,
              const std::string& folder, const std::stop_token& stop) {
  debug::RunRecorder recorder;
  request.recorder = &recorder;
  request.repeat = kRecordedRuns;
  const debug::RunReport report = debug::RunModule(module, request, stop);
  if (report.error) return std::unexpected(*report.error);
  HLOSCOPE_ASSIGN_OR_RETURN(const auto profile, recorder.Finish(SharedJobs(AvailableCpus())));
  HLOSCOPE_TRY(profiler::WriteProfile({*profile, nullptr, folder + "/run.hloprof"}));
  return {};
}

Compiled CompileAndRecord(const std::shared_ptr<const hlo::Module>& module,
                          const debug::RunRequest& request, const std::string& program,
                          RetainedFiles& place, const std::stop_token& stop) {
  Compiled compiled;
  Result<std::string> folder = place.NewPath(module->name(), request.platform);
  if (!folder) {
    compiled.report = std::unexpected(std::move(folder).error());
    return compiled;
  }
  compiled.folder = *std::move(folder);
  replay::OwnCompileRequest own{.dump = compiled.folder,
                                .passes = true,
                                .wants_module = false,
                                .xla_flags = request.xla_flags,
                                .limits = request.limits,
                                .program = program};
  compiled.report = replay::OwnCompile(*module, own, stop);
  if (!compiled.report) {
    std::error_code error;
    std::filesystem::remove_all(compiled.folder, error);
    return compiled;
  }
  compiled.recorded = Record(module, request, compiled.folder, stop);
  place.RemoveOldest();
  return compiled;
}

void Report(Context& context, const Compiled& compiled, bool is_retained,
            std::string_view platform) {
  if (!compiled.report) {
    return context.messages.Post(Severity::kError,
                                 "not compiled: " + compiled.report.error().ToString());
  }
  const auto counted = [](int64_t count, std::string_view noun) {
    return graph::CountedText(static_cast<size_t>(count), noun);
  };
  std::string text =
      fmt::format("{0} compiled {3} to {1}, {2}: {4}", platform,
                  counted(compiled.report->instructions, "instruction"),
                  counted(compiled.report->kernels, "kernel"),
                  counted(compiled.report->instructions_before, "instruction"), compiled.folder);
  if (!is_retained) text += " (temporary, deleted on exit)";
  context.messages.Post(Severity::kNote, std::move(text));
  if (!compiled.recorded) {
    context.messages.Post(Severity::kWarning,
                          "not profiled: " + compiled.recorded.error().ToString());
  }
  context.requests.Open({compiled.folder});
  context.requests.Show("graph");
}

}  // namespace

void ShowOwnCompilation(Context& context, std::shared_ptr<const hlo::Module> module,
                        const ExperimentRequest& request) {
  debug::RunRequest run = request;
  run.platform = replay::DefaultPlatform().name;
  run.reference_platform.clear();
  run.isolate = run.statistics = false;
  run.find.reset();
  run.workers = context.experiment.workers();
  const std::string title = fmt::format("compiling {} with {}", module->name(), run.platform);
  context.tasks.Start(
      title,
      [&context, module = std::move(module), run, program = context.experiment.program(),
       place = context.experiment.compilations(),
       life = context.document.life()](TaskControl& control) -> Tasks::Finish {
        auto compiled = std::make_shared<Compiled>(
            CompileAndRecord(module, run, program, *place, control.stop()));
        return [&context, compiled, place, platform = run.platform, life] {
          if (life != context.document.life()) return;
          Report(context, *compiled, place->is_retained(), platform);
        };
      });
}

}  // namespace hloscope::viewer
