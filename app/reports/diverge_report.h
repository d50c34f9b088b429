// A DivergeVerdict as text.
#pragma once

#include <string>
#include <vector>

#include "core/debug/explain/diverge/verdict.h"

namespace hloscope::app {

// `files` as given on the command line: the verdict, the edit, what was tried; errors come apart.
std::string DivergeReportText(const std::vector<std::string>& files,
                              const debug::DivergeVerdict& verdict);

}  // namespace hloscope::app
