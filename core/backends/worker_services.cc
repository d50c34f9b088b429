// Platforms and isolated tasks by their names.
#include "core/backends/worker_services.h"

#include <algorithm>

#include "core/backends/make_platform.h"

namespace hloscope::replay {

Result<std::string> LoadPluginTask(std::string_view request);
Result<std::string> ListDevicesTask(std::string_view request);
Result<std::string> QueryDriverTask(std::string_view request);
Result<std::string> QueryCuptiTask(std::string_view request);
Result<std::string> QueryLibrariesTask(std::string_view request);
Result<std::string> CompileWithPlugin(std::string_view request);
Result<std::string> CompileAheadTask(std::string_view request);
Result<std::string> OwnCompileTask(std::string_view request);
Result<std::string> DiagnoseKernelTask(std::string_view request);

namespace {

struct IsolatedTaskRow {
  std::string_view name;
  Result<std::string> (*run)(std::string_view request);
};
constexpr IsolatedTaskRow kTasks[] = {
    {"plugin", LoadPluginTask},  {"devices", ListDevicesTask},      {"driver", QueryDriverTask},
    {"cupti", QueryCuptiTask},   {"libraries", QueryLibrariesTask}, {"compile", CompileWithPlugin},
    {"ahead", CompileAheadTask}, {"own", OwnCompileTask},           {"kernel", DiagnoseKernelTask},
};

Result<std::string> DoIsolatedTask(std::string_view name, std::string_view request) {
  const auto row = std::ranges::find(kTasks, name, &IsolatedTaskRow::name);
  if (row == std::end(kTasks)) return InputError("a worker knows no such task");
  return row->run(request);
}

}  // namespace

WorkerServices BackendServices() { return {MakePlatform, DoIsolatedTask}; }

}  // namespace hloscope::replay
