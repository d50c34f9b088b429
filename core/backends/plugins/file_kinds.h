// IsFile and IsFolder: what a path is, links followed; false where that cannot be told.
#pragma once

#include <filesystem>

namespace hloscope::replay {

inline bool IsFile(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

inline bool IsFolder(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

}  // namespace hloscope::replay
