// Counting ids by folder.
#include "core/dump/processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace hloscope::dump {

std::vector<int32_t> ProcessOfModules(const DumpModel& model) {
  std::vector<int32_t> processes;
  std::map<std::pair<std::string_view, int64_t>, int32_t> seen;
  for (const ModuleEntry& module : model.modules())
    processes.push_back(module.id < 0 ? 0 : seen[{module.folder, module.id}]++);
  return processes;
}

std::string ProcessText(const ModuleEntry& module) {
  if (module.timestamp.empty()) return {};
  const bool is_time = module.timestamp.find_first_not_of("0123456789") == std::string::npos;
  return (is_time ? ", timestamp " : ", ") + module.timestamp;
}

int64_t ProcessesIn(const DumpModel& model) {
  const std::vector<int32_t> processes = ProcessOfModules(model);
  return processes.empty() ? 1 : std::ranges::max(processes) + int64_t{1};
}

std::string ProcessesText(const DumpModel& model) {
  const int64_t processes = ProcessesIn(model);
  if (processes < 2) {
    std::set<std::string_view> folders;
    bool is_recorded = false;
    for (const ModuleEntry& module : model.modules()) {
      folders.insert(module.folder);
      is_recorded |= module.folder.starts_with("process-");
    }
    if (!is_recorded || folders.size() < 2) return {};
    return fmt::format("written by {} processes, each into a folder of its own", folders.size());
  }
  return fmt::format("written by {} processes into one folder: ids of modules repeat", processes);
}

}  // namespace hloscope::dump
