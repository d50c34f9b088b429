// The lines of code of one instruction, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "core/analysis/align/code_lines.h"
#include "core/base/json.h"

namespace hloscope::app {

// One line for each run of lines with the same reason, or one that says why none is known; empty
// where there is no code to look at.
std::string CodeLinesText(const dump::DumpModel& model,
                          const std::vector<analysis::InstructionCode>& codes);
// The fields `lines` (file, first_line, last_line, reason, confidence) and `lines_unknown` (why
// there are none, or null).
void WriteCodeLines(const dump::DumpModel& model,
                    const std::vector<analysis::InstructionCode>& codes, JsonWriter& json);

}  // namespace hloscope::app
