// Naming a module, stage and instruction of a dump on the command line.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"
#include "core/dump/dump_model.h"

namespace hloscope::app {

// "a:b" as (a, b); a text without `:` as ("", text). Only the first `:` counts.
std::pair<std::string, std::string> SplitModule(std::string_view text);

// The module of that name or id; "" is the largest of the dump. Fails where there is none, or
// several of that name.
Result<int32_t> FindModule(const dump::DumpModel& model, std::string_view name);

// The stage of that name, or whose name begins so up to a `.`: "0003". Fails where there is none.
Result<int32_t> FindStage(const dump::DumpModel& model, int32_t module, std::string_view name);

// "module_0003.jit_f", as the files are called.
std::string ModuleTitle(const dump::ModuleEntry& module);

}  // namespace hloscope::app
