// What `compile` does without --with: our own compiler, up to kernels without their code.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::app {

struct OwnCompileReport {
  std::shared_ptr<const hlo::Module> module;  // what runs
  size_t instructions = 0, instructions_before = 0, kernels = 0;
  double compile_ms = 0;
  size_t dump_files = 0;
};

// Compiles and, where `dump` names a folder, writes the module before and after there, named as
// XLA names its dumps, with `passes` also after every pass that changed it. Errors: the folder or a
// file cannot be made (environment); our own mistakes (internal).
Result<OwnCompileReport> OwnCompile(std::shared_ptr<const hlo::Module> module,
                                    const std::string& dump, bool passes);

}  // namespace hloscope::app
