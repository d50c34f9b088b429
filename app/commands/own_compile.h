// What `compile` does without --with: our own compiler. Code is written for a dump alone.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::app {

struct OwnCompileReport {
  std::shared_ptr<const hlo::Module> module;  // what runs
  size_t instructions = 0, instructions_before = 0, kernels = 0;
  double compile_ms = 0;  // without writing code
  double code_ms = 0;     // for a dump: writing the code of all kernels, in a child process
  size_t dump_files = 0;
};

// Compiles and, where `dump` names a folder, writes there what XLA would, named as it names its
// dumps: the module before and after, with `passes` also after every pass that changed it; memory,
// steps and code of the plan; beside them the decisions of fusion. Errors: the folder or a file
// cannot be made (environment), or it holds a dump already (input); the child's; our own mistakes
// (internal).
Result<OwnCompileReport> OwnCompile(std::shared_ptr<const hlo::Module> module,
                                    const std::string& dump, bool passes, const Limits& limits,
                                    const std::stop_token& stop);

}  // namespace hloscope::app
