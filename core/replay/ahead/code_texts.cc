// Code as texts.
#include "core/replay/ahead/code_texts.h"

#include <algorithm>
#include <utility>

#include "core/replay/codegen_entry.h"

namespace hloscope::replay {
namespace {

void Add(hlo::InstructionId id, compile::StepCode code, CodeTexts& texts) {
  texts.scratch_bytes = std::max(texts.scratch_bytes, code.scratch_bytes);
  texts.codes[id.index] = std::move(code);
}

void Take(const compile::KernelLibrary& library, hlo::InstructionId id, CodeTexts& texts) {
  if (const compile::KernelCode* code = library.Find(id); code != nullptr) {
    Add(id, {code->name, code->library != nullptr, code->grains, code->scratch_bytes}, texts);
  }
  if (const compile::LoopCode* loop = library.FindLoop(id); loop != nullptr) {
    Add(id, {loop->name, false, 1, loop->scratch_bytes}, texts);
  }
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
  for (uint32_t i = 0; i < compiled.module->instructions().size(); ++i) {
    Take(*kernels, hlo::InstructionId(i), texts);
    Take(*calls, hlo::InstructionId(i), texts);
  }
  return texts;
}

}  // namespace hloscope::replay
