// Unpacking through a descriptor of the folder, so that no link can lead elsewhere.
#include "core/debug/bundle/unpack.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "core/base/unique_fd.h"

namespace hloscope::debug {
namespace {

std::unexpected<Error> Failed(const std::string& path) {
  return EnvironmentError(fmt::format("{}: {}", path, std::generic_category().message(errno)));
}

// `is_new`: it was not there.
Result<UniqueFd> OpenFolder(const std::string& folder, bool& is_new) {
  constexpr mode_t kOwnerOnly = 0700;
  is_new = mkdir(folder.c_str(), kOwnerOnly) == 0;
  if (!is_new) {
    if (errno != EEXIST) return Failed(folder);
    std::error_code error;
    const bool is_folder = std::filesystem::is_directory(std::filesystem::symlink_status(folder));
    if (!is_folder || !std::filesystem::is_empty(folder, error) || error) {
      return InputError(folder + ": exists already", "name a new folder, or an empty one");
    }
  }
  UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return Failed(folder);
  return fd;
}

Status WriteFile(int folder, const std::string& name, std::string_view bytes) {
  constexpr mode_t kOwnerOnly = 0600;
  UniqueFd fd(openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                     kOwnerOnly));
  if (!fd.valid()) return Failed(name);
  while (!bytes.empty()) {
    const ssize_t n = write(fd.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failed(name);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

Status WritePart(const dump::BundleFile& bundle, dump::BundlePart part, int folder,
                 std::vector<std::string>& written) {
  HLOSCOPE_ASSIGN_OR_RETURN(const std::string bytes, bundle.Read(part));
  written.emplace_back(dump::FileOf(part));
  return WriteFile(folder, written.back(), bytes);
}

}  // namespace

Result<std::vector<std::string>> UnpackBundle(const dump::BundleFile& bundle,
                                              const std::string& folder) {
  bool is_new = false;
  HLOSCOPE_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFolder(folder, is_new));
  std::vector<std::string> written;
  for (const dump::BundlePart part : bundle.Parts()) {
    const Status status = WritePart(bundle, part, fd.get(), written);
    if (status) continue;
    for (const std::string& name : written) unlinkat(fd.get(), name.c_str(), 0);
    if (is_new) rmdir(folder.c_str());
    return std::unexpected(status.error());
  }
  for (std::string& name : written) name = folder + "/" + name;
  return written;
}

}  // namespace hloscope::debug
