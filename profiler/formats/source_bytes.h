// SourceBytes: the bytes of a trace that arguments are read from again, in memory or, to take none
// of it, in its file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/file.h"

namespace hloscope::profiler {

// An argument of this name says why an event's own cannot be read any more.
inline constexpr std::string_view kArgumentsGone = "arguments";
inline constexpr std::string_view kFileChanged = "the file was changed since it was read";

class SourceBytes {
 public:
  explicit SourceBytes(FileView file) : file_(std::move(file)) {}
  ~SourceBytes();
  SourceBytes(const SourceBytes&) = delete;
  SourceBytes& operator=(const SourceBytes&) = delete;

  const FileView& file() const { return file_; }
  // Gives the memory back, where a regular file of that path has its size and, in every place that
  // is looked at, its bytes; false where not. Whoever has parts of them must not use these any
  // more. The file stays open: one that replaces it is another.
  bool Release();

  // Calls read(bytes), which begin at `offset`, with ever more of them until it returns true or
  // they reach the end. False where the file was changed since.
  template <typename Read>
  bool ReadFrom(uint64_t offset, Read read) const {
    if (fd_ < 0) return read(file_.bytes().substr(std::min<uint64_t>(offset, size_))), true;
    std::string window;
    for (size_t wanted = kFirstWindow;; wanted *= 8) {
      if (!Load(offset, wanted, window)) return false;
      if (read(std::string_view(window)) || offset + window.size() >= size_) return true;
    }
  }

 private:
  static constexpr size_t kFirstWindow = 4096;
  bool Load(uint64_t offset, size_t wanted, std::string& window) const;

  FileView file_;
  int fd_ = -1;
  uint64_t size_ = file_.bytes().size();
  int64_t modified_ns_ = 0;
};

}  // namespace hloscope::profiler
