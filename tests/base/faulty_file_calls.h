// File calls that fail, stop short or meet another writer, at the call a test chooses.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <string>

#include "core/base/file_calls.h"

namespace hloscope {

// Counts calls by name; the n-th call (from 0) of `call` fails with `error`. Reads and writes move
// at most `step` bytes.
class FaultyFileCalls : public FileCalls {
 public:
  std::string call;
  int n = 0;
  int error = EIO;
  size_t step = SIZE_MAX;
  std::function<void()> before_read = [] {};
  mutable std::map<std::string, int> count;

  int Open(const char* path, int flags, mode_t mode) const override {
    return Fails("open") ? -1 : FileCalls::Open(path, flags, mode);
  }
  int Stat(int fd, struct stat* status) const override {
    return Fails("stat") ? -1 : FileCalls::Stat(fd, status);
  }
  ssize_t Read(int fd, void* buffer, size_t size) const override {
    before_read();
    return Fails("read") ? -1 : FileCalls::Read(fd, buffer, std::min(size, step));
  }
  ssize_t Write(int fd, const void* buffer, size_t size) const override {
    return Fails("write") ? -1 : FileCalls::Write(fd, buffer, std::min(size, step));
  }
  int Sync(int fd) const override { return Fails("sync") ? -1 : FileCalls::Sync(fd); }
  int Close(int fd) const override {
    const bool fails = Fails("close");
    const int result = FileCalls::Close(fd);
    if (fails) errno = error;
    return fails ? -1 : result;
  }
  int Rename(const char* from, const char* to) const override {
    return Fails("rename") ? -1 : FileCalls::Rename(from, to);
  }

 private:
  bool Fails(const char* name) const {
    if (count[name]++ != n || call != name) return false;
    errno = error;
    return true;
  }
};

}  // namespace hloscope
