// The worker's side: loads modules and runs them for the process that started it.
#pragma once

#include <span>

#include "core/replay/platform.h"

namespace hloscope::replay {

/// Serves runs on the platforms that `make` makes until the parent closes the connection or dies, or
/// the worker does. `arguments` are those after kWorkerArgument. Returns the exit status.
int ServeWorker(std::span<char* const> arguments, PlatformMaker make);

}  // namespace hloscope::replay
