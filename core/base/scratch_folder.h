// ScratchFolder: a temporary folder.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "core/base/result.h"

namespace hloscope {

/// A new folder in that for temporary files; the destructor removes it with all that is in it.
class ScratchFolder {
 public:
  /// Environment error where no folder can be created.
  static Result<ScratchFolder> Make() {
    std::error_code code;
    std::string path = (std::filesystem::temp_directory_path(code) / "hloscope-XXXXXX").string();
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

}  // namespace hloscope
