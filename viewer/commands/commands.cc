#include "viewer/commands/commands.h"

#include <algorithm>

namespace hloscope::viewer {
namespace {

constexpr CommandRow kCommands[] = {
#define COMMAND(name, id, title, keys, when, handler, help) \
  {Command::name, id, title, keys, when, help},
#include "viewer/commands/commands.def"
#undef COMMAND
};

}  // namespace

std::span<const CommandRow> CommandRows() { return kCommands; }
const CommandRow& RowOf(Command command) { return kCommands[static_cast<size_t>(command)]; }

bool IsOfView(const CommandRow& row, std::string_view view) {
  for (std::string_view rest = row.when; !view.empty() && !rest.empty();) {
    const size_t end = std::min(rest.find(' '), rest.size());
    if (rest.substr(0, end) == view) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

std::string_view FirstViewOf(const CommandRow& row) {
  return row.when.substr(0, std::min(row.when.find(' '), row.when.size()));
}

}  // namespace hloscope::viewer
