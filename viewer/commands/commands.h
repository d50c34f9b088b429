// Commands: what keys and the palette do, from commands.def.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hloscope::viewer {

enum class Command : uint16_t {
#define COMMAND(name, id, title, keys, when, handler, help) name,
#include "viewer/commands/commands.def"
#undef COMMAND
};

struct CommandRow {
  Command command;
  std::string_view id, title, keys, when, help;
};
std::span<const CommandRow> CommandRows();
const CommandRow& RowOf(Command command);
// `when` of a row may name several views, separated by blanks.
bool IsOfView(const CommandRow& row, std::string_view view);
std::string_view FirstViewOf(const CommandRow& row);

}  // namespace hloscope::viewer
