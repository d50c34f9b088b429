// IsolatedTasks: small pieces of work that load somebody else's code (a plugin, a driver), each
// done in a worker of its own that may crash or hang without harm.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/child_process.h"
#include "core/base/result.h"

namespace hloscope::replay {

struct IsolatedTaskRequest {
  std::string name;  // of a row of core/backends/worker_services.cc
  std::string bytes;
  std::chrono::milliseconds deadline{60'000};
  int64_t memory_bytes = 0;                   // that it may hold; 0: no bound
  std::string program = kThisProgram;         // that is started as the worker
  std::vector<std::string> environment = {};  // NAME=value, before what tasks have by themselves
  std::string log = {};                       // as WorkerStart::log
};

// The answer of the worker. Errors: the task's own; died where the worker crashed, met its deadline
// or took too much memory, with the last lines it printed; environment where none can be started.
Result<std::string> RunIsolatedTask(const IsolatedTaskRequest& request,
                                    const std::stop_token& stop = {});

}  // namespace hloscope::replay
