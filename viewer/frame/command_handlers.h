// Handlers of commands.def.
#pragma once

#include "viewer/commands/commands.h"

namespace hloscope::viewer {

class Application;

/// What a command does where no view takes it; null: nothing.
using CommandHandler = void (*)(Application&, Command);
CommandHandler HandlerOf(Command command);

}  // namespace hloscope::viewer
