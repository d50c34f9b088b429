// VerdictJson: the line that `diverge --json` prints, and ReadVerdict reads.
#pragma once

#include <string>
#include <vector>

#include "core/debug/explain/diverge/verdict.h"

namespace hloscope::debug {

// One compact object and a line break; `files` as given on the command line: the module, and what
// it is held against.
std::string VerdictJson(const std::vector<std::string>& files, const DivergeVerdict& verdict);

}  // namespace hloscope::debug
