// What `hloscope reduce` prints.
#pragma once

#include <string>

#include "core/debug/reduce/reduce_module.h"

namespace hloscope::app {

// The files that were written, and the command that shows the failure again; empty where there is
// none.
struct ReduceFiles {
  std::string module, output, inputs, command;
};

std::string ReduceReportJson(const ReduceFiles& files, const debug::ReduceReport& report);
std::string ReduceReportText(const ReduceFiles& files, const debug::ReduceReport& report);

// reduced: 0, not_failing: 1, error: that of its class.
int ExitStatusOf(const debug::ReduceReport& report);

}  // namespace hloscope::app
