// Finding: one fault of a hunt, as its line in the file of findings says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hloscope::debug {

struct Finding {
  std::string fault;        // its key: two findings of one fault have the same
  std::string signature;    // how it fails, opcodes and types of its smallest module
  std::string types;        // that of the suspect, as classes
  std::string pass, cause;  // the guilty pass, or why none is; both empty: not known
  std::string instruction;  // the smallest module's, bare
  std::string known;        // heading on a page of known faults; empty: new
  std::string page;         // that page
  std::string wrong;        // the platform that is wrong; empty: open
  std::string bundle;       // file beside the findings; empty: none was made
  std::string module;       // likewise, the smallest module as HLO text
  std::string inputs;       // likewise, its inputs as .npz; empty: it has none
  std::string failure;      // in words
  std::string origin;       // "program 17", "mutant 18 of step.hlo"
  int64_t instructions = 0;
};

// One line of JSON with its end.
std::string FindingLine(const Finding& finding);
// Input error: it is not such a line.
Result<Finding> ParseFinding(std::string_view line);

}  // namespace hloscope::debug
