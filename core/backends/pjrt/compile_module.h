// Compiling a module by the real XLA: what `hloscope compile --with` does.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/backends/pjrt/debug_options.h"
#include "core/backends/plugins/plugins.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/hlo/module.h"
#include "core/replay/run_options.h"

namespace hloscope::replay {

struct CompileModuleRequest {
  RunOptions options;    // whose flags win over those of a dump
  std::string platform;  // one that dumps, or "pjrt:FILE"
  PluginSearch search;
  std::string target;  // where it compiles for targets: a name GpuTargetNames() gives, or a file
  std::string dump;    // folder, made where it is not there; empty: no dump
  bool passes = false;
  bool timers = false;  // with a dump: its log has the times of each step
  bool optimized_module = false;
  bool as_run = false;  // in the form that runs (see pjrt/adapt.h), never as it is
};

struct CompileModuleReport {
  PluginFile plugin;
  std::string device;  // what it was compiled for
  double load_ms = 0, compile_ms = 0;
  int64_t dump_files = 0, dump_bytes = 0;
  std::vector<std::pair<std::string, int64_t>> memory;  // bytes by name
  std::string optimized_module;                         // HloModuleProto, where it was asked for
  std::shared_ptr<const hlo::Module> form;  // what was compiled: the module, or as it was adapted
  std::vector<std::string> warnings;
};

// Compiles in a child process: the module as it is, and where XLA does not take that, adapted (see
// pjrt/adapt.h), with warnings that say so. Errors: no plugin, no such target, constants whose
// values the file does not hold, a folder that holds a dump already, XLA's own, the child died.
Result<CompileModuleReport> CompileModule(const std::shared_ptr<const hlo::Module>& module,
                                          const CompileModuleRequest& request,
                                          const std::stop_token& stop = {});

}  // namespace hloscope::replay
