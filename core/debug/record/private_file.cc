#include "core/debug/record/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <system_error>

#include "core/base/file.h"
#include "core/base/system_error.h"
#include "core/base/unique_fd.h"

namespace hloscope::debug {

// A file that is there keeps its mode when it is replaced.
Status WritePrivateFile(const std::string& path, std::string_view bytes) {
  constexpr mode_t kOwnerOnly = 0600;
  std::error_code error;
  if (std::filesystem::is_symlink(path, error)) std::filesystem::remove(path, error);
  const UniqueFd made(
      open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, kOwnerOnly));
  if (!made.valid() || fchmod(made.get(), kOwnerOnly) != 0) return SystemFailure("write " + path);
  return WriteFileAtomically(path, bytes);
}

}  // namespace hloscope::debug
