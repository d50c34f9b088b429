// What --help and `hloscope help` print.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/command.h"

namespace hloscope::app {

// "hloscope run [OPTIONS] MODULE..."
std::string UsageLine(const CommandRow& row, std::span<const OptionSpec> specs);

// Summary, usage, a row for each option and the examples, in lines of at most `width` columns.
std::string HelpText(const CommandRow& row, std::span<const OptionSpec> specs, size_t width);

// All commands, and the exit statuses.
std::string Overview(size_t width);

// The values that an option takes or for instance takes; empty where it takes any.
std::vector<std::string> OfferedValues(const OptionSpec& spec);

// What help says of an option: its text after the actions that read it, "create: …".
std::string HelpOf(const OptionSpec& spec);

// True where the value of an option or argument is a file or folder.
bool TakesPath(const OptionSpec& spec);

// The options of a command and those that all commands have.
std::vector<OptionSpec> AllOptions(Command& command, CommonOptions& common);

}  // namespace hloscope::app
