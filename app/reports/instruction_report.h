// Printing how single instructions did.
#pragma once

#include <string>

#include "core/base/json.h"
#include "core/debug/run/isolate.h"

namespace hloscope::app {

// "equal", "differs", "ran", "unsupported", "error".
std::string_view StatusOf(const debug::InstructionReport& report);

// One compact object and a line break; `file` as given on the command line.
std::string InstructionReportJson(const std::string& file, const debug::InstructionReport& report);
// One line for a person.
std::string InstructionReportText(const debug::InstructionReport& report);

// The object behind `first_divergent`.
void WriteDivergentJson(JsonWriter& json, const debug::InstructionReport& report);

}  // namespace hloscope::app
