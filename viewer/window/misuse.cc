// The list of wrong uses: tests fail on it, the window of a user goes on.
#include "viewer/window/misuse.h"

#include <algorithm>
#include <mutex>

#include "viewer/window/imgui_config.h"

namespace hloscope::viewer {
namespace {

struct Log {
  std::mutex mutex;
  std::vector<std::string> entries;
};
Log& TheLog() {
  static Log log;
  return log;
}

}  // namespace

void NoteMisuse(const char* what, const char* file, int line) {
  std::string entry = std::string(file) + ":" + std::to_string(line) + ": " + what;
  Log& log = TheLog();
  std::lock_guard lock(log.mutex);
  if (log.entries.size() < 100 && std::ranges::find(log.entries, entry) == log.entries.end())
    log.entries.push_back(std::move(entry));
}

std::vector<std::string> Misuses() {
  Log& log = TheLog();
  std::lock_guard lock(log.mutex);
  return log.entries;
}

}  // namespace hloscope::viewer
