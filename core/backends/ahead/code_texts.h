// CodeTexts: what code generation makes of a compiled module, as texts and objects. For children
// only: it loads LLVM.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/compile/compile.h"
#include "core/compile/dump/dump_texts.h"
#include "core/compile/kernel_code.h"

namespace hloscope::replay {

struct CodeTexts {
  std::vector<compile::CodePart> parts;
  compile::StepCodes codes;   // of the steps, where there is a plan
  int64_t scratch_bytes = 0;  // the most that any code asks for
};

// Writes and links the code of all kernels, of loops that are one function and of library calls.
// Errors: code generation's own; its library is missing (environment).
Result<CodeTexts> MakeCodeTexts(const compile::Compilation& compiled);

}  // namespace hloscope::replay
