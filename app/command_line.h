// Reading a command's arguments into the targets of its options.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "app/command.h"

namespace hloscope::app {

enum class ParseOutcome : uint8_t { kRun, kHelpShown, kUsageError };

// Parses `arguments` (without program and command name). Help goes to standard output, errors with
// the usage line to standard error.
ParseOutcome ParseArguments(const CommandRow& row, std::span<const OptionSpec> specs,
                            const std::vector<std::string>& arguments);

}  // namespace hloscope::app
