// FileParts: a file of which only the parts that are asked for come into memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/file.h"
#include "core/base/limits.h"
#include "core/base/result.h"

namespace hloscope {

// Bytes in memory already, or a regular file that is not packed. Copies share it; several threads
// may read.
class FileParts {
 public:
  explicit FileParts(FileView whole);
  // Errors as of FileView::Open, which reads what is packed, standard input and files that the
  // kernel generates.
  static Result<FileParts> Open(const std::string& path, const Limits& limits);

  const std::string& path() const;
  uint64_t size() const;
  // All of it, where that is in memory; else null.
  const FileView* whole() const { return whole_.get(); }
  // `size` bytes from `offset` on, which lie in the file (a precondition). An environment error
  // where the system refuses or the file is not what it was when it was opened.
  Result<std::string> Read(uint64_t offset, uint64_t size) const;

 private:
  struct OnDisk;
  explicit FileParts(std::shared_ptr<const OnDisk> on_disk) : on_disk_(std::move(on_disk)) {}

  std::shared_ptr<const FileView> whole_;  // or
  std::shared_ptr<const OnDisk> on_disk_;  // this
};

}  // namespace hloscope
