// The worker's side: loads modules and runs them for the process that started it.
#pragma once

#include <span>
#include <string_view>

#include "core/replay/workers/remote_observer.h"

namespace hloscope::replay {

// Serves until the parent closes the connection or dies, or the worker does. `arguments` are those
// behind kWorkerArgument. Returns the exit status.
int ServeWorker(std::span<char* const> arguments, std::span<const ObserverRow> observers);

}  // namespace hloscope::replay
