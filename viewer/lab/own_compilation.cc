// Compiling and recording in a task.
#include "viewer/lab/own_compilation.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <utility>

#include "core/debug/run/compile_and_record.h"
#include "core/graph/count_text.h"
#include "core/replay/platform_table.h"
#include "viewer/model/document.h"
#include "viewer/model/experiment.h"
#include "viewer/model/messages.h"
#include "viewer/model/requests.h"
#include "viewer/model/tasks.h"

namespace hloscope::viewer {
namespace {

struct Compiled {
  std::string folder;
  Result<debug::RecordedCompilation> made = std::unexpected(Error{});
};

Compiled Compile(const std::shared_ptr<const hlo::Module>& module, const debug::RunSpec& request,
                 const std::string& program, RetainedFiles& place, const std::stop_token& stop) {
  Compiled compiled;
  Result<std::string> folder = place.NewPath(module->name(), request.test.name);
  if (!folder) {
    compiled.made = std::unexpected(std::move(folder).error());
    return compiled;
  }
  compiled.folder = *std::move(folder);
  compiled.made = debug::CompileAndRecord(module, request, compiled.folder, program, stop);
  if (!compiled.made) {
    std::error_code error;
    std::filesystem::remove_all(compiled.folder, error);
    return compiled;
  }
  place.RemoveOldest();
  return compiled;
}

void Report(Context& context, const Compiled& compiled, bool is_retained,
            std::string_view platform) {
  if (!compiled.made) {
    return context.messages.Post(Severity::kError,
                                 "not compiled: " + compiled.made.error().ToString());
  }
  const auto& [report, recorded] = *compiled.made;
  const auto counted = [](int64_t count, std::string_view noun) {
    return graph::CountedText(static_cast<size_t>(count), noun);
  };
  std::string text =
      fmt::format("{0} compiled {3} to {1}, {2}: {4}", platform,
                  counted(report.instructions, "instruction"), counted(report.kernels, "kernel"),
                  counted(report.instructions_before, "instruction"), compiled.folder);
  if (!is_retained) text += " (temporary, deleted on exit)";
  context.messages.Post(Severity::kNote, std::move(text));
  if (!recorded) {
    context.messages.Post(Severity::kWarning, "not profiled: " + recorded.error().ToString());
  }
  context.requests.Open({compiled.folder});
  context.requests.Show("graph");
}

}  // namespace

void ShowOwnCompilation(Context& context, std::shared_ptr<const hlo::Module> module,
                        const ExperimentRequest& request) {
  debug::RunSpec run = debug::DerivedSpec(
      request, debug::TestOn(request, replay::DefaultPlatform().name), request.inputs);
  run.execution.workers = context.experiment.workers();
  const std::string title = fmt::format("compiling {} with {}", module->name(), run.test.name);
  context.tasks.Start(
      title,
      [&context, module = std::move(module), run, program = context.experiment.program(),
       place = context.experiment.compilations(),
       life = context.document.life()](TaskControl& control) -> Tasks::Finish {
        auto compiled =
            std::make_shared<Compiled>(Compile(module, run, program, *place, control.stop()));
        return [&context, compiled, place, platform = run.test.name, life] {
          if (life != context.document.life()) return;
          Report(context, *compiled, place->is_retained(), platform);
        };
      });
}

}  // namespace hloscope::viewer
