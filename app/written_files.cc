#include "app/written_files.h"

#include <fmt/format.h>

#include <filesystem>

namespace hloscope::app {
namespace {

namespace fs = std::filesystem;

bool IsFile(const std::string& path) {
  std::error_code error;
  return !path.empty() && path != "-" && !path.ends_with('/') && !fs::is_directory(path, error);
}

bool IsSameFile(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  const fs::path whole = fs::weakly_canonical(fs::absolute(a, error), error);
  if (error) return a == b;
  const fs::path other = fs::weakly_canonical(fs::absolute(b, error), error);
  return error ? a == b : whole == other;
}

}  // namespace

Status CheckFilesToWrite(std::span<const FileToWrite> written,
                         std::initializer_list<std::span<const std::string>> read) {
  for (size_t k = 0; k < written.size(); ++k) {
    const auto& [option, path] = written[k];
    if (!IsFile(path)) continue;
    for (const std::span<const std::string> files : read) {
      for (const std::string& file : files) {
        if (!IsFile(file) || !IsSameFile(path, file)) continue;
        return InputError(fmt::format("{} {}: that is an input", option, path),
                          "name another file");
      }
    }
    for (const auto& [other, second] : written.subspan(k + 1)) {
      if (!IsFile(second) || !IsSameFile(path, second)) continue;
      return InputError(fmt::format("{} {}: {} writes the same file", option, path, other),
                        "name another file for one of them");
    }
  }
  return {};
}

}  // namespace hloscope::app
