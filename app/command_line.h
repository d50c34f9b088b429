// Reading a command's arguments into the targets of its options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/command.h"

namespace hloscope::app {

// The options every command has: --json, --jobs, --limit.
struct CommonOptions {
  Context context;
  std::vector<std::string> limits;
  std::vector<OptionSpec> Specs();
};

enum class ParseOutcome : uint8_t { kRun, kHelpShown, kUsageError };

// Parses `arguments` (without program and command name). Help goes to standard output, errors with
// the usage line to standard error.
ParseOutcome ParseArguments(const CommandRow& row, const std::vector<OptionSpec>& specs,
                            const std::vector<std::string>& arguments);

// "hloscope run [OPTIONS] MODULE…"
std::string UsageLine(const CommandRow& row, const std::vector<OptionSpec>& specs);

}  // namespace hloscope::app
