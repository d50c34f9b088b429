// The table of commands.
#include "viewer/commands/commands.h"

namespace hloscope::viewer {
namespace {

constexpr CommandRow kCommands[] = {
#define COMMAND(name, id, title, keys, when, help) {Command::name, id, title, keys, when, help},
#include "viewer/commands/commands.def"
#undef COMMAND
};

}  // namespace

std::span<const CommandRow> CommandRows() { return kCommands; }
const CommandRow& RowOf(Command command) { return kCommands[static_cast<size_t>(command)]; }

}  // namespace hloscope::viewer
