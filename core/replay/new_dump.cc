#include "core/replay/new_dump.h"

#include <fmt/format.h>

#include <filesystem>

namespace hloscope::replay {

namespace fs = std::filesystem;

Result<std::string> MakeDumpFolder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return EnvironmentError(fmt::format("{}: {}", folder, error.message()));
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with("module_")) {
      return InputError(fmt::format("{}: already contains a dump", folder),
                        "give a new or empty folder");
    }
  }
  const fs::path whole = fs::canonical(folder, error);
  if (error) return EnvironmentError(fmt::format("{}: {}", folder, error.message()));
  return whole.string();
}

}  // namespace hloscope::replay
