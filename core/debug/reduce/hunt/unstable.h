// UnstableProgram: one that fails in another way each time, as its line in the file of them says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"

namespace hloscope::debug {

struct UnstableProgram {
  std::string origin;             // "program 17", "mutant 18 of step.hlo"
  std::string module;             // file beside the findings, as HLO text
  std::string inputs;             // likewise, as .npz; empty: it has none
  std::vector<std::string> runs;  // what came of each
};

void WriteUnstable(JsonWriter& json, const UnstableProgram& program);
// One line of JSON with its end.
std::string UnstableLine(const UnstableProgram& program);
// Input error: it is not such a line.
Result<UnstableProgram> ParseUnstable(std::string_view line);

}  // namespace hloscope::debug
