// Files that come with the program, found from where it stands.
#include "core/replay/assets.h"

#include <filesystem>

namespace hloscope::replay {

namespace fs = std::filesystem;

std::optional<std::string> FindAsset(std::string_view name, std::string_view source_folder) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return std::nullopt;
  const fs::path installed = program.parent_path().parent_path() / "share/hloscope" / name;
  if (fs::exists(installed, error)) return installed.string();
  // Above a build folder stands the source tree: build/PRESET/app/hloscope.
  fs::path above = program.parent_path();
  for (int level = 0; level < 4; ++level) {
    above = above.parent_path();
    if (!fs::exists(above / "core/backends/plugins/plugins.cc", error)) continue;
    const fs::path source = above / source_folder / name;
    if (fs::exists(source, error)) return source.string();
  }
  return std::nullopt;
}

}  // namespace hloscope::replay
