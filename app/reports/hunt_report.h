// What `hloscope hunt` prints.
#pragma once

#include <string>

#include "core/debug/reduce/hunt/hunt.h"

namespace hloscope::app {

// A finding in a few lines. As JSON: debug::FindingLine.
std::string FindingText(const debug::Finding& finding);

// The counts at the end.
std::string FuzzReportJson(const debug::FuzzReport& report);
std::string FuzzReportText(const debug::FuzzReport& report);

// No fault: 0, some: 1; an error: that of its class.
int ExitStatusOf(const debug::FuzzReport& report);

}  // namespace hloscope::app
