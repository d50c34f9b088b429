// A DivergeVerdict as JSON and as text.
#pragma once

#include <string>
#include <vector>

#include "core/debug/diverge/verdict.h"

namespace hloscope::app {

// One compact object and a line break; `files` as given on the command line.
std::string DivergeReportJson(const std::vector<std::string>& files,
                              const debug::DivergeVerdict& verdict);
// For a person: the verdict, the edit, what was tried; errors come apart.
std::string DivergeReportText(const std::vector<std::string>& files,
                              const debug::DivergeVerdict& verdict);

}  // namespace hloscope::app
