// Reading at an offset, with the file's size and time checked each time.
#include "core/base/files/file_parts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "core/base/gzip.h"
#include "core/base/progress/activity.h"
#include "core/base/unique_fd.h"

namespace hloscope {
namespace {

constexpr uint64_t kLargestStep = uint64_t{1} << 30;

bool IsSame(const struct stat& a, const struct stat& b) {
  return a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

}  // namespace

struct FileParts::OnDisk {
  std::string path;
  UniqueFd fd;
  struct stat status = {};

  std::unexpected<Error> Fails(std::string message, std::string hint = {}) const {
    return std::unexpected(
        Error{ErrorClass::kEnvironment, std::move(message), {path, 0, 0}, std::move(hint)});
  }

  Status ReadInto(char* out, uint64_t offset, uint64_t size) const {
    constexpr const char* kChanged = "changed while it was read";
    constexpr const char* kHint = "try again when it is no longer being written";
    while (size > 0) {
      const auto step = static_cast<size_t>(std::min(size, kLargestStep));
      const ssize_t count = ::pread(fd.get(), out, step, static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return Fails("cannot read: " + std::generic_category().message(errno));
      if (count == 0) return Fails(kChanged, kHint);
      out += count;
      offset += static_cast<uint64_t>(count);
      size -= static_cast<uint64_t>(count);
    }
    struct stat now = {};
    if (::fstat(fd.get(), &now) != 0) {
      return Fails("cannot examine: " + std::generic_category().message(errno));
    }
    if (!IsSame(now, status)) return Fails(kChanged, kHint);
    return {};
  }
};

FileParts::FileParts(FileView whole) : whole_(std::make_shared<FileView>(std::move(whole))) {}

Result<FileParts> FileParts::Open(const std::string& path, const Limits& limits) {
  auto file = std::make_shared<OnDisk>();
  file->path = path;
  const bool is_file = path != "-" && path != "/dev/stdin";
  if (is_file) {
    file->fd = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  }
  char head[2] = {};
  // What is not as simple as that is for FileView to read, or to find the words for.
  const bool is_plain = file->fd.valid() && ::fstat(file->fd.get(), &file->status) == 0 &&
                        S_ISREG(file->status.st_mode) && file->status.st_size >= 2 &&
                        file->status.st_size <= limits.input_file_bytes &&
                        file->ReadInto(head, 0, sizeof(head)).has_value() &&
                        !IsGzip({head, sizeof(head)});
  if (is_plain) return FileParts(std::move(file));
  HLOSCOPE_ASSIGN_OR_RETURN(FileView whole, FileView::Open(path, limits));
  return FileParts(std::move(whole));
}

const std::string& FileParts::path() const { return whole_ ? whole_->path() : on_disk_->path; }

uint64_t FileParts::size() const {
  return whole_ ? whole_->bytes().size() : static_cast<uint64_t>(on_disk_->status.st_size);
}

Result<std::string> FileParts::Read(uint64_t offset, uint64_t size) const {
  if (whole_) return std::string(whole_->bytes().substr(offset, size));
  const Activity activity("reading", path());
  std::string bytes;
  Status read;
  bytes.resize_and_overwrite(size, [&](char* out, size_t) {
    read = on_disk_->ReadInto(out, offset, size);
    return read.has_value() ? size : 0;
  });
  if (!read.has_value()) return std::unexpected(std::move(read).error());
  return bytes;
}

}  // namespace hloscope
