// IsolatedTasks: small pieces of work that load somebody else's code (a plugin, a driver), each
// done in a process of its own that may crash or hang without harm.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hloscope::replay {

// What an isolated task does: bytes to bytes, in the child.
using IsolatedTaskFunction = Result<std::string> (*)(std::string_view request);

struct IsolatedTaskRequest {
  std::string name;  // of a row of isolated tasks.def
  std::string bytes;
  std::chrono::milliseconds deadline{60'000};
  int64_t memory_bytes = 0;  // that it may hold; 0: no bound
};

struct IsolatedTaskAnswer {
  std::string bytes;
  std::string printed;  // the last of what the child wrote to its standard output and error
};

// The answer of the child. Errors: the task's own; died where the child crashed, met its deadline
// or took too much memory, with the last line it printed; environment where no child can be
// started.
Result<IsolatedTaskAnswer> RunIsolatedTask(const IsolatedTaskRequest& request,
                                           const std::stop_token& stop = {});

// The argument after which the program is a child and the task's name follows.
inline constexpr std::string_view kIsolatedTaskArgument = "--task";
// What the child does: reads the request from the descriptors it was given and answers there.
// Returns its exit status.
int IsolatedTaskMain(std::string_view name);

}  // namespace hloscope::replay
