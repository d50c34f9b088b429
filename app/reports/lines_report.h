// Which lines of PTX took the time, as `profile` tells it.
#pragma once

#include <string>

#include "app/reports/profile_report.h"
#include "core/base/json.h"

namespace hloscope::app {

// A table of the hottest lines of all instructions; empty where none was counted.
std::string LinesText(const ProfileReport& report);

// Field `ptx_lines` of the object of an instruction; nothing where none was counted.
void AppendLines(const profiler::PtxLines& lines, JsonWriter& json);

}  // namespace hloscope::app
