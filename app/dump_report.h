// What `info` says about a dump directory.
#pragma once

#include <string>

#include "core/dump/dump_summary.h"

namespace hloscope::app {

// For people, and as one JSON object with a line end.
std::string DumpText(const dump::DumpModel& model, const dump::DumpSummary& summary);
std::string DumpJson(const dump::DumpModel& model, const dump::DumpSummary& summary);

// "12 B", "34.5 kB", "1.2 MB".
std::string BytesText(int64_t bytes);

}  // namespace hloscope::app
