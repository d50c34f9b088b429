#include "core/debug/record/unused_path.h"

#include <fmt/format.h>

#include <filesystem>

namespace hloscope {

std::string UnusedPath(const std::string& path) {
  const std::filesystem::path given(path);
  const std::string stem = (given.parent_path() / given.stem()).string();
  std::string free = path;
  std::error_code error;
  for (int k = 2; std::filesystem::exists(std::filesystem::symlink_status(free, error)); ++k) {
    free = fmt::format("{}-{}{}", stem, k, given.extension().string());
  }
  return free;
}

}  // namespace hloscope
