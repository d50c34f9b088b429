// OwnCompile: what our own compiler makes of a module, as a dump folder like XLA's, made in a child
// process: no other loads LLVM.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/base/child_process.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::replay {

struct OwnCompileRequest {
  std::string dump;     // a folder, which is made; empty: none is written, and no code
  bool passes = false;  // with the module behind every pass that changed it
  bool wants_module = false, wants_plan = false;
  // As of the run whose compilation it is: of them the one that switches passes off is read.
  std::vector<std::pair<std::string, std::string>> xla_flags;
  Limits limits;  // its deadline and its share of memory are those of the child
  std::string program = kThisProgram;  // that is started as the child
};

struct OwnCompileReport {
  int64_t instructions = 0, instructions_before = 0, kernels = 0;
  double compile_ms = 0;  // without writing code
  double code_ms = 0;     // for a dump: writing the code of all kernels
  int64_t dump_files = 0;
  std::shared_ptr<const hlo::Module> module;  // what runs; null unless it is wanted
  std::string plan;                           // as text, or why there is none, where it is wanted
};

// Compiles as a run on our own compiler does and, where a folder is named, writes there what XLA
// would, named as it names its dumps: the module before and after; memory, steps and code of the
// plan; beside them the decisions of fusion. Errors: the folder or a file cannot be made
// (environment), or it holds a dump already (input); code generation's own; died where the child
// did or met its deadline.
Result<OwnCompileReport> OwnCompile(const hlo::Module& module, const OwnCompileRequest& request,
                                    const std::stop_token& stop = {});

}  // namespace hloscope::replay
