// Code of a module as a file: the request, the child's side and the answer.
#include "core/replay/ahead/compile_ahead.h"

#include <span>

#include "core/base/byte_archive.h"
#include "core/base/own_library.h"
#include "core/compile/compile.h"
#include "core/compile/kernel_code.h"
#include "core/hlo/module_image.h"
#include "core/replay/workers/isolated_task.h"

namespace hloscope::replay {

namespace {

using Clock = std::chrono::steady_clock;

// What travels to the child.
struct AheadJob {
  std::string module;  // its image
  CodeForm form = CodeForm::kLlvm;
  std::string target;
  int threads = 0;
};

template <typename A>
void Archive(A& archive, Archived<A, AheadJob>& job) {
  archive(job.module, job.form, job.target, job.threads);
}

}  // namespace

template <typename A>
void Archive(A& archive, Archived<A, AheadAnswer>& answer) {
  archive(answer.code, answer.kernels, answer.functions, answer.compile_ms);
}

namespace {

Result<AheadAnswer> WriteKernels(const compile::Compilation& compiled, const AheadJob& job) {
  HLOSCOPE_ASSIGN_OR_RETURN(
      void* const entry, FindInOwnLibrary("codegen", compile::kGenerateKernels,
                                          "run `scripts/setup build`, then build again"));
  const auto generate = *static_cast<const compile::GenerateKernelsFunction*>(entry);
  AheadAnswer answer;
  compile::CodegenOptions options{
      .threads = job.threads, .target = job.target, .plan = compiled.plan.get()};
  (job.form == CodeForm::kLlvm ? options.llvm_ir : options.assembly) = &answer.code;
  HLOSCOPE_ASSIGN_OR_RETURN(const auto library,
                            generate(compiled.module, compiled.kernels, options));
  answer.functions = library->function_count();
  return answer;
}

Result<AheadAnswer> CompileHere(AheadJob& job) {
  const auto image = std::make_shared<const std::string>(std::move(job.module));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto module,
                            hlo::ModuleFromImage(std::as_bytes(std::span(*image)), image));
  const Clock::time_point start = Clock::now();
  HLOSCOPE_ASSIGN_OR_RETURN(const compile::Compilation compiled, compile::Compile(module));
  HLOSCOPE_ASSIGN_OR_RETURN(AheadAnswer answer, WriteKernels(compiled, job));
  answer.kernels = std::ssize(compiled.kernels);
  answer.compile_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return answer;
}

}  // namespace

// The task "ahead".
Result<std::string> CompileAheadTask(std::string_view request) {
  AheadJob job;
  ByteReader in(std::as_bytes(std::span(request)));
  in(job);
  if (!in.ok()) return InternalError("malformed request");
  HLOSCOPE_ASSIGN_OR_RETURN(const AheadAnswer answer, CompileHere(job));
  ByteWriter out;
  out(answer);
  return std::move(out).Take();
}

Result<AheadAnswer> CompileAhead(const hlo::Module& module, const AheadRequest& request,
                                 const std::stop_token& stop) {
  ByteWriter out;
  out(AheadJob{hlo::ModuleToImage(module), request.form, request.target, request.threads});
  IsolatedTaskRequest task;
  task.name = "ahead";
  task.bytes = std::move(out).Take();
  task.deadline = request.deadline;
  task.memory_bytes = request.memory_bytes;
  HLOSCOPE_ASSIGN_OR_RETURN(const std::string answered, RunIsolatedTask(task, stop));
  AheadAnswer answer;
  ByteReader in(std::as_bytes(std::span(answered)));
  in(answer);
  if (!in.ok()) return InternalError("malformed answer from a child process");
  return answer;
}

}  // namespace hloscope::replay
