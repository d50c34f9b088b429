// Code as texts.
#include "core/backends/ahead/code_texts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/backends/compiled/codegen_entry.h"

namespace hloscope::replay {
namespace {

std::optional<compile::StepCode> CodeOf(const compile::KernelLibrary& library,
                                        const compile::PlannedStep& step) {
  if (step.is_one_function) {
    const compile::LoopCode* const loop = library.FindLoop(step.number);
    if (loop == nullptr) return std::nullopt;
    return compile::StepCode{loop->name, false, 1, loop->scratch_bytes};
  }
  const compile::KernelCode* const code = library.Find(step.id);
  if (code == nullptr) return std::nullopt;
  return compile::StepCode{code->name, code->library != nullptr, code->grains, code->scratch_bytes};
}

}  // namespace

Result<CodeTexts> MakeCodeTexts(const compile::Compilation& compiled) {
  CodeTexts texts;
  compile::CodegenOptions options;
  options.plan = compiled.plan.get();
  options.parts = &texts.parts;
  HLOSCOPE_ASSIGN_OR_RETURN(const auto generate, CodegenEntry<compile::GenerateKernelsFunction>(
                                                     compile::kGenerateKernels));
  std::vector<hlo::InstructionId> own = compiled.kernels;
  HLOSCOPE_ASSIGN_OR_RETURN(const auto calls, MakeLibraryCalls(compiled, own));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto kernels, generate(compiled.module, own, options));
  if (compiled.plan == nullptr) return texts;
  ForEachStep(*compiled.plan, 0, [&](const compile::PlannedStep& step) {
    for (const compile::KernelLibrary* const library : {kernels.get(), calls.get()}) {
      std::optional<compile::StepCode> code = CodeOf(*library, step);
      if (!code) continue;
      texts.scratch_bytes = std::max(texts.scratch_bytes, code->scratch_bytes);
      texts.codes[step.number] = *std::move(code);
    }
  });
  return texts;
}

}  // namespace hloscope::replay
