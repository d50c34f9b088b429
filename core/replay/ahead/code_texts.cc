// Code as texts: both sides of the task "code".
#include "core/replay/ahead/code_texts.h"

#include <algorithm>
#include <chrono>
#include <span>

#include "core/base/byte_archive.h"
#include "core/base/machine_memory.h"
#include "core/compile/compile.h"
#include "core/hlo/module_image.h"
#include "core/replay/codegen_entry.h"
#include "core/replay/workers/isolated_task.h"

namespace hloscope::compile {

template <typename A>
void Archive(A& archive, Archived<A, CodePart>& part) {
  archive(part.name, part.llvm_ir, part.optimized_llvm_ir, part.assembly, part.object);
}

}  // namespace hloscope::compile

namespace hloscope::replay {
namespace {

using Clock = std::chrono::steady_clock;

// One StepCode on its way.
struct SentCode {
  uint32_t id = 0;
  std::string name;
  bool is_library = false;
  int64_t grains = 1, scratch_bytes = 0;
};
template <typename A>
void Archive(A& archive, Archived<A, SentCode>& code) {
  archive(code.id, code.name, code.is_library, code.grains, code.scratch_bytes);
}

struct CodeAnswer {
  std::vector<compile::CodePart> parts;
  std::vector<SentCode> codes;
  double milliseconds = 0;
};
template <typename A>
void Archive(A& archive, Archived<A, CodeAnswer>& answer) {
  archive(answer.parts, answer.codes, answer.milliseconds);
}

void Take(const compile::KernelLibrary& library, hlo::InstructionId id, CodeAnswer& answer) {
  if (const compile::KernelCode* code = library.Find(id); code != nullptr) {
    answer.codes.push_back(
        {id.index, code->name, code->library != nullptr, code->grains, code->scratch_bytes});
  }
  if (const compile::LoopCode* loop = library.FindLoop(id); loop != nullptr) {
    answer.codes.push_back({id.index, loop->name, false, 1, loop->scratch_bytes});
  }
}

Result<CodeAnswer> GenerateHere(const std::shared_ptr<const hlo::Module>& module) {
  HLOSCOPE_ASSIGN_OR_RETURN(const compile::Compilation compiled, compile::Compile(module));
  const hlo::Module& made = *compiled.module;
  const Clock::time_point start = Clock::now();
  CodeAnswer answer;
  compile::CodegenOptions options;
  options.plan = compiled.plan.get();
  options.parts = &answer.parts;
  HLOSCOPE_ASSIGN_OR_RETURN(const auto generate, CodegenEntry<compile::GenerateKernelsFunction>(
                                                     compile::kGenerateKernels));
  std::vector<hlo::InstructionId> own = compiled.kernels;
  HLOSCOPE_ASSIGN_OR_RETURN(const auto calls, MakeLibraryCalls(compiled, own));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto kernels, generate(compiled.module, own, options));
  answer.milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  for (uint32_t i = 0; i < made.instructions().size(); ++i) {
    Take(*kernels, hlo::InstructionId(i), answer);
    Take(*calls, hlo::InstructionId(i), answer);
  }
  return answer;
}

}  // namespace

// The task "code".
Result<std::string> GenerateCodeTexts(std::string_view request) {
  const auto image = std::make_shared<const std::string>(request);  // where literals are aligned
  HLOSCOPE_ASSIGN_OR_RETURN(const auto module,
                            hlo::ModuleFromImage(std::as_bytes(std::span(*image)), image));
  HLOSCOPE_ASSIGN_OR_RETURN(const CodeAnswer answer, GenerateHere(module));
  ByteWriter out;
  out(answer);
  return std::move(out).Take();
}

Result<CodeTexts> MakeCodeTexts(const hlo::Module& module, const Limits& limits,
                                const std::stop_token& stop) {
  IsolatedTaskRequest task;
  task.name = "code";
  task.bytes = hlo::ModuleToImage(module);
  task.deadline = std::chrono::seconds(limits.run_deadline_seconds);
  task.memory_bytes = MachineMemoryBytes() / 100 * limits.run_memory_percent;
  HLOSCOPE_ASSIGN_OR_RETURN(const std::string answered, RunIsolatedTask(task, stop));
  CodeAnswer answer;
  ByteReader in(std::as_bytes(std::span(answered)));
  in(answer);
  if (!in.ok()) return InternalError("malformed answer from a child process");
  CodeTexts texts;
  texts.parts = std::move(answer.parts);
  texts.milliseconds = answer.milliseconds;
  for (SentCode& code : answer.codes) {
    texts.scratch_bytes = std::max(texts.scratch_bytes, code.scratch_bytes);
    texts.codes[code.id] = {std::move(code.name), code.is_library, code.grains, code.scratch_bytes};
  }
  return texts;
}

}  // namespace hloscope::replay
