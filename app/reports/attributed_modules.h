// Modules given beside a trace, for those that it does not carry itself.
#pragma once

#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "profiler/attribution.h"

namespace hloscope::app {

// The modules that ran, of files and dumps. What ran is the module after optimizations; of a dump
// no other is taken, and its number is that of the program. Errors: one cannot be read, a dump has
// none.
Result<std::vector<profiler::AttributedModule>> LoadAttributedModules(
    const std::vector<std::string>& paths, const Limits& limits);

// Adds those of `given` that a trace does not carry itself to its `modules`.
void AddGivenModules(const profiler::EventStore& store,
                     const std::vector<profiler::AttributedModule>& given,
                     std::vector<profiler::AttributedModule>& modules);

}  // namespace hloscope::app
