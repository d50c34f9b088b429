// Reading a command's arguments into the targets of its options.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/command.h"

namespace hloscope::app {

enum class ParseOutcome : uint8_t { kRun, kHelpShown, kUsageError };

// Parses `arguments` (without program and command name). Help goes to standard output, errors with
// the usage line to standard error; with --json also as an object to standard output.
ParseOutcome ParseArguments(const CommandRow& row, std::span<const OptionSpec> specs,
                            const std::vector<std::string>& arguments);

// `name` with `-` for each `_`: two names that are equal so are the same option.
std::string OptionKey(std::string_view name);

}  // namespace hloscope::app
