#include "app/command.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/closest_text.h"
#include "core/base/strings.h"

namespace hloscope::app {
namespace {

constexpr CommandRow kRows[] = {
#define COMMAND(make, name, summary, examples) {make, name, summary, examples},
#include "app/commands.def"
#undef COMMAND
};

struct OtherTool {
  std::string_view name, command;
};
constexpr OtherTool kOtherTools[] = {
#define OTHER_TOOL(name, command) {name, command},
#include "app/other_tools.def"
#undef OTHER_TOOL
};

int Rank(int status) {
  switch (status) {
    case kDied:
      return 4;
    case kBadInput:
      return 3;
    case kUnsupported:
      return 2;
    case kDiffers:
      return 1;
    default:
      return 0;
  }
}

}  // namespace

std::span<const CommandRow> CommandRows() { return kRows; }

const CommandRow* CommandRowOf(std::string_view name) {
  const auto* const row = std::ranges::find(kRows, name, &CommandRow::name);
  return row == std::end(kRows) ? nullptr : row;
}

Error UnknownCommand(std::string_view name) {
  const std::string message = "hloscope: unknown command `" + std::string(name) + "`";
  std::string theirs = AsciiStrToLower(name);
  std::ranges::replace(theirs, '-', '_');
  const auto* const tool = std::ranges::find(kOtherTools, theirs, &OtherTool::name);
  if (tool != std::end(kOtherTools)) {
    return InputError(message, fmt::format("`hloscope {0}` does this; `hloscope help {0}` lists "
                                           "its options",
                                           tool->command))
        .error();
  }
  ClosestText closest(name);
  for (const CommandRow& row : kRows) closest.Offer(row.name);
  const std::string hint = closest.Hint();
  return InputError(message, hint.empty() ? "`hloscope help` lists the commands" : hint).error();
}

int Worse(int a, int b) { return Rank(a) >= Rank(b) ? a : b; }

int ExitStatusOf(const Error& error) {
  if (IsExecutionFailure(error.error_class)) return kDied;
  return error.error_class == ErrorClass::kUnsupported ? kUnsupported : kBadInput;
}

}  // namespace hloscope::app
