#include "core/base/file_calls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

namespace hloscope {

int FileCalls::Open(const char* path, int flags, mode_t mode) const {
  return ::open(path, flags, mode);
}
int FileCalls::Stat(int fd, struct stat* status) const { return ::fstat(fd, status); }
ssize_t FileCalls::Read(int fd, void* buffer, size_t size) const {
  return ::read(fd, buffer, size);
}
ssize_t FileCalls::Write(int fd, const void* buffer, size_t size) const {
  return ::write(fd, buffer, size);
}
int FileCalls::Sync(int fd) const { return ::fsync(fd); }
int FileCalls::Close(int fd) const { return ::close(fd); }
int FileCalls::Rename(const char* from, const char* to) const { return ::rename(from, to); }
int FileCalls::Unlink(const char* path) const { return ::unlink(path); }

const FileCalls& SystemFileCalls() {
  static const FileCalls calls;
  return calls;
}

}  // namespace hloscope
