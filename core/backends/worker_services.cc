// Platforms and isolated tasks by their names.
#include "core/backends/worker_services.h"

#include <algorithm>

#include "core/backends/make_platform.h"

namespace hloscope::replay {

#define TASK(name, function) Result<std::string> function(std::string_view request);
#include "core/backends/isolated_tasks.def"
#undef TASK

namespace {

struct IsolatedTaskRow {
  std::string_view name;
  Result<std::string> (*run)(std::string_view request);
};
constexpr IsolatedTaskRow kTasks[] = {
#define TASK(name, function) {name, function},
#include "core/backends/isolated_tasks.def"
#undef TASK
};

Result<std::string> DoIsolatedTask(std::string_view name, std::string_view request) {
  const auto row = std::ranges::find(kTasks, name, &IsolatedTaskRow::name);
  if (row == std::end(kTasks)) return InputError("a worker knows no such task");
  return row->run(request);
}

}  // namespace

WorkerServices BackendServices() { return {MakePlatform, DoIsolatedTask}; }

}  // namespace hloscope::replay
