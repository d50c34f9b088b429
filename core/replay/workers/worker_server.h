// The worker's side: loads modules and runs them for the process that started it.
#pragma once

#include <span>

namespace hloscope::replay {

// Serves until the parent closes the connection or dies, or the worker does. `arguments` are those
// behind kWorkerArgument. Returns the exit status.
int ServeWorker(std::span<char* const> arguments);

}  // namespace hloscope::replay
