// `hloscope compare DUMP DUMP…`: all modules of two dumps or more.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/command.h"
#include "core/analysis/programs/dump_programs.h"

namespace hloscope::app {

// The programs of each dump, of unchanged folders from the user's cache. Errors: a path that
// cannot be read.
Result<std::vector<analysis::DumpPrograms>> ProgramsOf(const std::vector<std::string>& paths,
                                                       const Context& context);

// Compares them, only `modules` (names or ids) unless that is empty, prints the report with `top`
// rows, and returns the exit status. Errors: a module that no dump has.
Result<int> CompareDumps(std::vector<analysis::DumpPrograms> dumps,
                         const std::vector<std::string>& modules, size_t top,
                         const Context& context);

}  // namespace hloscope::app
