// What the options of `info` print.
#pragma once

#include <string>

#include "app/command.h"
#include "core/base/result.h"

namespace hloscope::app {

// One instruction at every level, or the instructions of a kernel, thunk, buffer or source line, as
// text or JSON. `selection` is [MODULE:]WHAT[@STAGE]; WHAT is an instruction, kernel=NAME,
// thunk=ID, buffer=ID or line=FILE:LINE. Fails where nothing fits, saying what there is.
Result<std::string> SelectionText(const std::string& path, const std::string& selection,
                                  const Context& context);

// Registers, memory and SASS of a kernel, made by CUDA's tools; `selection` is
// [MODULE:]kernel=NAME. Fails where there is no such kernel, nothing to make it of, or no tool,
// saying what helps.
Result<std::string> SassText(const std::string& path, const std::string& selection,
                             const Context& context);

// A line per pass with what it changed; of one module, and only of passes that changed it, if
// asked.
struct PassesRequest {
  std::string module;  // name or id; empty: all
  bool changed_only = false;
};
Result<std::string> PassesText(const std::string& path, const PassesRequest& request,
                               const Context& context);

// What the pass before a stage changed, as an aligned diff; `stage` is [MODULE:]STAGE.
Result<std::string> PassDiffText(const std::string& path, const std::string& stage,
                                 const Context& context);

// Where the time of compilations went: of a dump, or of a log.
Result<std::string> CompileTimeText(const std::string& path, const std::string& module,
                                    const Context& context);

// What the autotuner chose, of a dump or of a file of records; `pin` is where the records go that
// fix the choices, empty: nowhere.
struct AutotuningRequest {
  std::string module, pin;
};
Result<std::string> AutotuningText(const std::string& path, const AutotuningRequest& request,
                                   const Context& context);

// What holds the memory at the peak of each compiled module, of a dump or a module; `advise`: what
// would lower it, `verify`: each advice carried out and compiled by XLA for the dump's device.
struct MemoryRequest {
  std::string module;
  bool advise = false, verify = false;
};
Result<std::string> MemoryText(const std::string& path, const MemoryRequest& request,
                               const Context& context);

}  // namespace hloscope::app
