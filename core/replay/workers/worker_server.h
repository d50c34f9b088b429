// The worker's side: loads modules and runs them for the process that started it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/replay/platform.h"

namespace hloscope::replay {

/// What a worker does for the process that started it.
struct WorkerServices {
  PlatformMaker make_platform = nullptr;
  /// An isolated task by its name: bytes to bytes. Input error: there is no task of that name.
  Result<std::string> (*do_task)(std::string_view name, std::string_view request) = nullptr;
};

/// Serves until the parent closes the connection or dies, or
/// the worker does. `arguments` are those after kWorkerArgument. Returns the exit status.
int ServeWorker(std::span<char* const> arguments, const WorkerServices& services);

}  // namespace hloscope::replay
