// CodeTexts: what code generation makes of a module, as texts and objects, made in a child process.
#pragma once

#include <memory>
#include <stop_token>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/compile/dump/dump_texts.h"
#include "core/compile/kernel_code.h"
#include "core/hlo/module.h"

namespace hloscope::replay {

struct CodeTexts {
  std::vector<compile::CodePart> parts;
  compile::StepCodes codes;   // by instruction of the compiled module
  int64_t scratch_bytes = 0;  // the most that any code asks for
  double milliseconds = 0;    // to write and link it, without compile::Compile
};

// Compiles the module once more, there, and writes its code. Errors: code generation's own; died
// where the child did.
Result<CodeTexts> MakeCodeTexts(const hlo::Module& module, const Limits& limits,
                                const std::stop_token& stop = {});

}  // namespace hloscope::replay
