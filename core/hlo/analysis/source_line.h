// Where in the user's program an instruction came from.
#pragma once

#include <string>

#include "core/hlo/module.h"

namespace hloscope::hlo {

// "file.py:12 (function)" of the instruction's stack frame, or "file.py:12" of its inline source;
// empty where its metadata names neither.
std::string SourceLineOf(const Module& module, const Instruction& instruction);

}  // namespace hloscope::hlo
