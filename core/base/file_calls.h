// The system calls behind files as an interface, so that tests can let each of them fail.
#pragma once

#include <sys/types.h>

#include <cstddef>

struct stat;

namespace hloscope {

// Each function does what the call of its name does, errno included. The base class is the real
// system.
class FileCalls {
 public:
  virtual ~FileCalls() = default;
  virtual int Open(const char* path, int flags, mode_t mode) const;
  virtual int Stat(int fd, struct stat* status) const;
  virtual ssize_t Read(int fd, void* buffer, size_t size) const;
  virtual ssize_t Write(int fd, const void* buffer, size_t size) const;
  virtual int Sync(int fd) const;
  virtual int Close(int fd) const;
  virtual int Rename(const char* from, const char* to) const;
  virtual int Unlink(const char* path) const;
};

const FileCalls& SystemFileCalls();

}  // namespace hloscope
