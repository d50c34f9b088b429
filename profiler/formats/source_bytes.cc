#include "profiler/formats/source_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace hloscope::profiler {
namespace {

// The time of the last change in nanoseconds, where it is a regular file of that size.
std::optional<int64_t> ModifiedIf(int fd, uint64_t size) {
  struct stat status = {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  if (static_cast<uint64_t>(status.st_size) != size) return std::nullopt;
  return static_cast<int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec;
}

bool ReadAt(int fd, uint64_t offset, std::string& into) {
  size_t done = 0;
  while (done < into.size()) {
    const ssize_t count =
        ::pread(fd, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

}  // namespace

SourceBytes::~SourceBytes() {
  if (fd_ >= 0) ::close(fd_);
}

bool SourceBytes::Release() {
  // A part of each step is compared: all of a large trace would take as long as a tenth of reading.
  constexpr size_t kStep = size_t{1} << 20, kPart = 4096;
  if (fd_ >= 0 || file_.was_packed()) return fd_ >= 0;
  // Nonblocking: a pipe may have taken its place.
  const int fd = ::open(file_.path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  const std::optional<int64_t> modified = ModifiedIf(fd, size_);
  bool is_same = modified.has_value();
  std::string part;
  for (uint64_t at = 0; at < size_ && is_same; at += kStep) {
    part.resize(std::min<uint64_t>(kPart, size_ - at));
    is_same = ReadAt(fd, at, part) && file_.bytes().substr(at, part.size()) == part;
  }
  if (!is_same || ModifiedIf(fd, size_) != modified) {
    ::close(fd);
    return false;
  }
  fd_ = fd;
  modified_ns_ = *modified;
  file_ = FileView::FromBytes(file_.path(), "");
  return true;
}

bool SourceBytes::Load(uint64_t offset, size_t wanted, std::string& window) const {
  window.resize(std::min<uint64_t>(wanted, size_ - std::min(offset, size_)));
  return ReadAt(fd_, offset, window) && ModifiedIf(fd_, size_) == modified_ns_;
}

}  // namespace hloscope::profiler
