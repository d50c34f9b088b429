// A module compiled again: by our own compiler or another XLA, for another device, with other
// flags.
#pragma once

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

namespace hloscope::debug {

struct CompileAgainRequest {
  std::string platform;  // our own compiler for the CPU, or one that dumps
  std::string target;    // where the platform compiles for targets
  std::vector<std::pair<std::string, std::string>> flags;  // of XLA, by name without dashes
  std::string folder;                                      // gets a dump of every pass
  Limits limits;
  std::string program = kThisProgram;  // the child of our own compiler
};

struct CompiledAgain {
  std::string compiler;  // the platform and its target: "PLATFORM for NVIDIA H100", "cpu"
  std::vector<std::string> warnings;
};

/// The platforms that can be asked: our own compiler first, then those that dump.
struct DumpingCompiler {
  std::string name;
  bool has_targets = false, takes_flags = false, is_here = false;
};
std::vector<DumpingCompiler> DumpingCompilers();

/// In a child process. Constants whose values the dump does not have are made up, with a warning.
/// Errors: those of the compiler; a flag or a target that it does not read.
Result<CompiledAgain> CompileAgain(const std::shared_ptr<const hlo::Module>& module,
                                   const CompileAgainRequest& request, const std::stop_token& stop);

}  // namespace hloscope::debug
