// Modules for commands that may start a plugin: HLO of every form, StableHLO and what jax.export
// wrote.
#pragma once

#include <string>

#include "core/backends/pjrt/mlir_module.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/dump/load.h"

namespace hloscope::app {

// Whether `format`, or the bytes where it is empty, say that the file is MLIR.
bool IsMlir(const std::string& format, dump::FileKind kind);

// As dump::LoadModule; MLIR is translated by a plugin, or by jaxlib where `arguments` set its
// shapes, within the budget.
Result<dump::LoadedModule> LoadAnyModule(const std::string& path, const Limits& limits,
                                         const std::string& format = "", const Budget& budget = {},
                                         const replay::MlirArguments& arguments = {});

// The same; every error of reading becomes the error, placed in the file.
Result<dump::LoadedModule> LoadAnySoundModule(const std::string& path, const Limits& limits,
                                              const std::string& format = "",
                                              const Budget& budget = {},
                                              const replay::MlirArguments& arguments = {});

}  // namespace hloscope::app
