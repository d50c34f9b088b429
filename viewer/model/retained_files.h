// RetainedFiles: where the window saves files of runs that outlast it.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/scratch_folder.h"

namespace hloscope::viewer {

enum class RetainedKind : uint8_t { kFile, kFolder };

/// Where the window saves files of runs that outlast it. Any thread may call it, and other windows
/// may use the same folder.
class RetainedFiles {
 public:
  /// `name` below the state folder; where that is empty, a folder that goes with this object.
  /// At most `most` things that are named with `ending` stay in it.
  RetainedFiles(std::string state_folder, std::string name, std::string ending, RetainedKind kind,
                size_t most);

  /// A new, empty file or folder in it, which nobody else has, named after module and platform.
  /// Environment error: it cannot be made.
  Result<std::string> NewPath(std::string_view module, std::string_view platform);
  // Removes the oldest beyond the most; what cannot be removed stays.
  void RemoveOldest();
  // False: all of it goes when the window is closed.
  bool is_retained() const { return !state_folder_.empty(); }

 private:
  // Made where it is not there.
  Result<std::string> Folder();

  const std::string state_folder_, name_, ending_;
  const RetainedKind kind_;
  const size_t most_;
  std::mutex mutex_;
  std::optional<ScratchFolder> scratch_;
};

}  // namespace hloscope::viewer
