// Modules for commands that may start a plugin: HLO of every form, StableHLO and what jax.export
// wrote.
#pragma once

#include <stop_token>
#include <string>

#include "core/backends/pjrt/mlir_module.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/dump/load.h"

namespace hloscope::app {

// As dump::LoadModule; MLIR (recognised by its bytes, or named by `format`) is translated by a
// plugin, or by jaxlib where `arguments` set its shapes.
Result<dump::LoadedModule> LoadAnyModule(const std::string& path, const Limits& limits,
                                         const std::string& format = "",
                                         const std::stop_token& stop = {},
                                         const replay::MlirArguments& arguments = {});

// The same; every error of reading becomes the error, placed in the file.
Result<dump::LoadedModule> LoadAnySoundModule(const std::string& path, const Limits& limits,
                                              const std::string& format = "",
                                              const std::stop_token& stop = {},
                                              const replay::MlirArguments& arguments = {});

}  // namespace hloscope::app
