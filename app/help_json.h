// What `hloscope help --json` prints: the commands and their options as data, for programs.
#pragma once

#include <string>

#include "app/command.h"

namespace hloscope::app {

// One object on a line: name, summary, usage, options with their types, examples.
std::string HelpJson(const CommandRow& row);

}  // namespace hloscope::app
