// Both sides of the task "own".
#include "core/backends/ahead/own_compile.h"

#include <fmt/format.h>

#include <filesystem>
#include <span>

#include "core/backends/ahead/own_dump.h"
#include "core/backends/compiled/how_to_compile.h"
#include "core/base/machine_memory.h"
#include "core/compile/compile.h"
#include "core/hlo/module_image.h"
#include "core/replay/new_dump.h"
#include "core/replay/workers/typed_task.h"

namespace hloscope::replay {
namespace {

using Clock = std::chrono::steady_clock;

// What travels to the child and back.
struct OwnJob {
  std::string module;  // its image
  OwnCompileRequest request;
};
template <typename A>
void Archive(A& archive, Archived<A, OwnJob>& job) {
  archive(job.module, job.request.dump, job.request.passes, job.request.wants_module,
          job.request.wants_plan, job.request.xla_flags, job.request.limits);
}

struct OwnAnswer {
  OwnCompileReport report;
  std::string module;  // its image, where it is wanted
};
template <typename A>
void Archive(A& archive, Archived<A, OwnAnswer>& answer) {
  archive(answer.report.instructions, answer.report.instructions_before, answer.report.kernels,
          answer.report.compile_ms, answer.report.code_ms, answer.report.dump_files,
          answer.report.plan, answer.module);
}

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Result<std::shared_ptr<const hlo::Module>> ModuleOf(std::string image) {
  const auto bytes = std::make_shared<const std::string>(std::move(image));
  return hlo::ModuleFromImage(std::as_bytes(std::span(*bytes)), bytes);
}

std::string PlanText(const hlo::Module& module, const compile::Compilation& compiled) {
  if (compiled.plan != nullptr) return compile::ToText(*compiled.plan);
  return fmt::format("no plan for {}: {}; it runs instruction by instruction\n", module.name(),
                     compiled.why_no_plan);
}

Result<OwnAnswer> CompileOwnHere(OwnJob& job) {
  const OwnCompileRequest& request = job.request;
  HLOSCOPE_ASSIGN_OR_RETURN(const auto module, ModuleOf(std::move(job.module)));
  RunOptions run;
  run.limits = request.limits;
  run.platform.xla_flags = request.xla_flags;
  compile::CompileOptions options = HowToCompile(*module, run, false);
  options.keep_stages = !request.dump.empty();
  OwnAnswer answer;
  OwnCompileReport& report = answer.report;
  const Clock::time_point begin = Clock::now();
  HLOSCOPE_ASSIGN_OR_RETURN(const compile::Compilation compiled, compile::Compile(module, options));
  report.compile_ms = MillisecondsSince(begin);
  report.instructions_before = std::ssize(module->instructions());
  report.instructions = std::ssize(compiled.module->instructions());
  report.kernels = std::ssize(compiled.kernels);
  if (request.wants_module) answer.module = hlo::ModuleToImage(*compiled.module);
  if (request.wants_plan) report.plan = PlanText(*module, compiled);
  if (request.dump.empty()) return answer;
  const Clock::time_point code_begin = Clock::now();
  HLOSCOPE_ASSIGN_OR_RETURN(const CodeTexts code, MakeCodeTexts(compiled));
  report.code_ms = MillisecondsSince(code_begin);
  HLOSCOPE_ASSIGN_OR_RETURN(report.dump_files,
                            WriteOwnDump(request.dump, module, compiled, code, request.passes));
  return answer;
}

}  // namespace

// The task "own".
Result<std::string> OwnCompileTask(std::string_view request) {
  return DoTypedTask<OwnJob>(request, &CompileOwnHere);
}

Result<OwnCompileReport> OwnCompile(const hlo::Module& module, const OwnCompileRequest& request,
                                    const std::stop_token& stop) {
  OwnJob job{hlo::ModuleToImage(module), request};
  if (!request.dump.empty()) {
    HLOSCOPE_ASSIGN_OR_RETURN(job.request.dump, MakeDumpFolder(request.dump));
  }
  IsolatedTaskRequest task;
  task.name = "own";
  task.program = request.program;
  task.deadline = std::chrono::seconds(request.limits.run_deadline_seconds);
  task.memory_bytes = MachineMemoryBytes() / 100 * request.limits.run_memory_percent;
  auto answer = RunTypedTask<OwnAnswer>(std::move(task), job, stop);
  if (!answer) {
    std::error_code error;  // a folder that is empty only
    if (!request.dump.empty()) std::filesystem::remove(job.request.dump, error);
    return std::unexpected(std::move(answer).error());
  }
  OwnCompileReport report = std::move(answer->report);
  if (request.wants_module) {
    HLOSCOPE_ASSIGN_OR_RETURN(report.module, ModuleOf(std::move(answer->module)));
  }
  return report;
}

}  // namespace hloscope::replay
