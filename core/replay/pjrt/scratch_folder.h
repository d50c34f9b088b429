// ScratchFolder: where a plugin dumps what is read and thrown away.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/result.h"

namespace hloscope::replay {

// A new folder, removed with all that is in it.
class ScratchFolder {
 public:
  static Result<ScratchFolder> Make() {
    std::error_code code;
    std::string path =
        (std::filesystem::temp_directory_path(code) / "hloscope-XXXXXX").string();
    if (code || mkdtemp(path.data()) == nullptr) {
      return EnvironmentError("cannot create a temporary folder",
                              "set TMPDIR to a writable folder");
    }
    return ScratchFolder(std::move(path));
  }
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder() {
    std::error_code code;
    if (!path_.empty()) std::filesystem::remove_all(path_, code);
  }
  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// The path of a file in `folder` whose name ends so; empty where there is none.
inline std::string FileEndingIn(const std::string& folder, std::string_view ending) {
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(folder, code)) {
    if (entry.path().filename().string().ends_with(ending)) return entry.path().string();
  }
  return {};
}

}  // namespace hloscope::replay
