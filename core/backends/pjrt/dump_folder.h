// The folder that a compilation dumps into.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/backends/pjrt/compile_module.h"
#include "core/base/scratch_folder.h"

namespace hloscope::replay {

// Where the dump goes: the folder that was asked for, made, or one to be thrown away where only the
// optimised module of it is wanted; empty: none is written. Input error: it holds a dump already.
Result<std::string> DumpFolder(const CompileModuleRequest& request,
                               std::optional<ScratchFolder>& scratch);

/// The path of a file in `folder` whose name ends so; empty where there is none.
std::string FileEndingIn(const std::string& folder, std::string_view ending);

// Adds the flags that the dump needs, and those of the request, which win.
void AddFlags(const CompileModuleRequest& request, Devices devices, pjrt::XlaFlags& flags);

// The optimised module as XLA dumps it; the one that plugins hand out has lost constants.
std::string DumpedModule(const std::string& folder, const Limits& limits);

void CountFiles(const std::string& folder, CompileModuleReport& report);

}  // namespace hloscope::replay
