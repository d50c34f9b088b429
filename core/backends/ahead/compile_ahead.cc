// Code of a module as a file: the request, the child's side and the answer.
#include "core/backends/ahead/compile_ahead.h"

#include <fmt/format.h>

#include <filesystem>
#include <span>

#include "core/backends/ahead/c_interface.h"
#include "core/backends/compiled/codegen_entry.h"
#include "core/backends/compiled/how_to_compile.h"
#include "core/backends/compiled/plan_code.h"
#include "core/base/byte_archive.h"
#include "core/base/counted.h"
#include "core/compile/compile.h"
#include "core/compile/gpu_code.h"
#include "core/compile/kernel_code.h"
#include "core/compile/kernel_rules.h"
#include "core/compile/object_code.h"
#include "core/hlo/module_image.h"
#include "core/replay/workers/typed_task.h"

namespace hloscope::replay {

namespace {

using Clock = std::chrono::steady_clock;

// What travels to the child.
struct AheadJob {
  std::string module;  // its image
  CodeForm form = CodeForm::kLlvm;
  std::string target;
  int threads = 0;
  std::string object_file;
};

template <typename A>
void Archive(A& archive, Archived<A, AheadJob>& job) {
  archive(job.module, job.form, job.target, job.threads, job.object_file);
}

}  // namespace

template <typename A>
void Archive(A& archive, Archived<A, AheadAnswer>& answer) {
  archive(answer.code, answer.c_header, answer.cmake, answer.temp_bytes, answer.kernels,
          answer.functions, answer.compile_ms);
}

namespace {

Result<AheadAnswer> WriteKernels(const compile::Compilation& compiled, const AheadJob& job) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto generate, CodegenEntry<compile::GenerateKernelsFunction>(
                                                     compile::kGenerateKernels));
  AheadAnswer answer;
  compile::CodegenOptions options{
      .threads = job.threads, .target = job.target, .plan = compiled.plan.get()};
  (job.form == CodeForm::kLlvm ? options.llvm_ir : options.assembly) = &answer.code;
  std::vector<hlo::InstructionId> own = compiled.kernels;
  HLOSCOPE_TRY(MakeLibraryCalls(compiled, own));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto library, generate(compiled.module, own, options));
  answer.functions = library->function_count();
  return answer;
}

// PTX as one text, and what has none as comments; or all of it as a .hloplan.
Result<AheadAnswer> WriteGpuCode(const compile::Compilation& compiled, const AheadJob& job) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto generate, CodegenEntry<compile::GenerateGpuCodeFunction>(
                                                     compile::kGenerateGpuCode));
  HLOSCOPE_ASSIGN_OR_RETURN(
      const compile::GpuCode code,
      generate(
          compiled.module, compiled.kernels,
          {.threads = job.threads, .target = job.target, .one_text = job.form == CodeForm::kPtx}));
  AheadAnswer answer;
  answer.functions = std::ssize(code.kernels);
  if (job.form == CodeForm::kPlan) {
    HLOSCOPE_ASSIGN_OR_RETURN(answer.code, ToPlanFile(compiled, job.target, code));
    return answer;
  }
  answer.code = code.modules.at(0);
  for (const auto& refused : code.refused) {
    answer.code += fmt::format("// no code for {}: {}\n",
                               compiled.module->name(refused.instruction), refused.why);
  }
  return answer;
}

// "custom-call of lapack_dpotrf_ffi", "cholesky: unsupported opcode".
std::string KindOf(const hlo::Module& module, hlo::InstructionId id) {
  const std::string_view opcode = hlo::ToString(module[id].opcode);
  if (module[id].opcode != hlo::Opcode::kCustomCall) {
    return fmt::format("{}: {}", opcode, compile::WhyNoKernel(module, id));
  }
  return fmt::format("{} of {}", opcode,
                     module.GetString(module[id], hlo::AttributeKey::kCustomCallTarget));
}

// Unsupported where something of the plan is no code: all that the evaluator would run, the first
// by name.
Status CheckIsAllCode(const compile::Compilation& compiled) {
  const char* const hint =
      "`hloscope run --platform cpu` runs it, `compile --emit plan -o -` shows how";
  const hlo::Module& module = *compiled.module;
  if (compiled.plan == nullptr) {
    return UnsupportedError(
        fmt::format("{} cannot be compiled ahead of time: {}", module.name(), compiled.why_no_plan),
        hint);
  }
  std::vector<hlo::InstructionId> evaluated;
  compile::ForEachStep(*compiled.plan, 0, [&](const compile::PlannedStep& step) {
    if (step.kind == compile::StepKind::kEvaluate) evaluated.push_back(step.id);
  });
  if (evaluated.empty()) return {};
  const hlo::InstructionId first = evaluated[0];
  if (module[first].opcode == hlo::Opcode::kConstant) {
    return UnsupportedError(fmt::format("{} cannot be compiled ahead of time: the values of {} are "
                                        "not in the file",
                                        module.name(), module.name(first)),
                            "give the module as a protobuf (.hlo.pb), which holds them, or the "
                            "values with --constants F.npz");
  }
  const std::string others =
      evaluated.size() == 1 ? "" : " and " + Counted(evaluated.size() - 1, "other");
  return UnsupportedError(
      fmt::format("{} cannot be compiled ahead of time: our compiler has no code for {} ({}){}",
                  module.name(), module.name(first), KindOf(module, first), others),
      hint);
}

std::string ProgramFolder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

Result<AheadAnswer> WriteObject(const compile::Compilation& compiled, const AheadJob& job) {
  HLOSCOPE_TRY(CheckIsAllCode(compiled));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto write,
                            CodegenEntry<compile::WriteObjectFunction>(compile::kWriteObject));
  const std::filesystem::path file(job.object_file);
  const std::string name = CName(file.stem().string());
  HLOSCOPE_ASSIGN_OR_RETURN(compile::ObjectCode object,
                            write(*compiled.plan, {job.target, EntrySymbol(name)}));
  AheadAnswer answer;
  answer.c_header = CHeader(
      *compiled.plan, object, name,
      job.target.empty() ? "processors like that of the machine it was compiled on" : job.target);
  answer.cmake = CMakeFile(object, name, file.filename().string(), ProgramFolder());
  answer.code = std::move(object.bytes);
  answer.temp_bytes = object.temp_bytes;
  answer.functions = object.functions;
  return answer;
}

Result<AheadAnswer> Write(const compile::Compilation& compiled, const AheadJob& job) {
  switch (job.form) {
    case CodeForm::kLlvm:
    case CodeForm::kAssembly:
      return WriteKernels(compiled, job);
    case CodeForm::kPtx:
    case CodeForm::kPlan:
      return WriteGpuCode(compiled, job);
    case CodeForm::kObject:
      return WriteObject(compiled, job);
  }
  return InternalError("no such form of code");
}

Result<AheadAnswer> CompileHere(AheadJob& job) {
  const auto image = std::make_shared<const std::string>(std::move(job.module));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto module,
                            hlo::ModuleFromImage(std::as_bytes(std::span(*image)), image));
  const Clock::time_point start = Clock::now();
  const bool is_object = job.form == CodeForm::kObject;
  compile::CompileOptions options;
  const bool is_for_gpu = job.form == CodeForm::kPtx || job.form == CodeForm::kPlan;
  options.library_calls = !is_object && !is_for_gpu;
  options.gpu_kernels = is_for_gpu;
  options.plan_collectives = job.form == CodeForm::kPlan;  // as the platforms that take one
  options.is_unpartitioned =
      options.plan_collectives && HowToCompile(*module, RunOptions(), false).is_unpartitioned;
  if (!is_for_gpu) {
    HLOSCOPE_ASSIGN_OR_RETURN(
        const auto has_byte_products,
        CodegenEntry<compile::HasByteProductsFunction>(compile::kHasByteProducts));
    HLOSCOPE_ASSIGN_OR_RETURN(options.byte_kernels, has_byte_products(job.target));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const compile::Compilation compiled, compile::Compile(module, options));
  HLOSCOPE_ASSIGN_OR_RETURN(AheadAnswer answer, Write(compiled, job));
  answer.kernels = std::ssize(compiled.kernels);
  answer.compile_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return answer;
}

}  // namespace

// The task "ahead".
Result<std::string> CompileAheadTask(std::string_view request) {
  return DoTypedTask<AheadJob>(request, &CompileHere);
}

Result<AheadAnswer> CompileAhead(const hlo::Module& module, const AheadRequest& request,
                                 const std::stop_token& stop) {
  IsolatedTaskRequest task;
  task.name = "ahead";
  task.deadline = request.deadline;
  task.memory_bytes = request.memory_bytes;
  const AheadJob job{hlo::ModuleToImage(module), request.form, request.target, request.threads,
                     request.object_file};
  return RunTypedTask<AheadAnswer>(std::move(task), job, stop);
}

}  // namespace hloscope::replay
