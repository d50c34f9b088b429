// Whole files: FileView reads one into memory, WriteFileAtomically writes one or leaves the old.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/byte_buffer.h"
#include "core/base/file_calls.h"
#include "core/base/limits.h"
#include "core/base/result.h"

namespace hloscope {

// The immutable bytes of a file. Copies share them. They are read into memory and never mapped: a
// file that shrinks under a map kills its reader.
class FileView {
 public:
  // Reads `path`, or standard input for "-" and "/dev/stdin"; gzip data, known by their first
  // bytes, are unpacked. Errors: input for no such file, folders, pipes, sockets, devices, too many
  // bytes (limit input-file) and broken gzip; environment for what the system refuses and for a
  // file that kept changing while it was read.
  static Result<FileView> Open(const std::string& path, const Limits& limits,
                               const FileCalls& calls = SystemFileCalls());
  // Bytes that are in memory already; `path` names them in messages. Packed bytes stay packed.
  static FileView FromBytes(std::string path, std::string bytes);

  const std::string& path() const { return contents_->path; }
  std::string_view bytes() const { return contents_->bytes; }  // a zero byte follows the last
  bool was_packed() const { return contents_->was_packed; }

 private:
  struct Contents {
    std::string path;
    ByteBuffer buffer;  // what `bytes` lies in, or
    std::string text;   // this
    std::string_view bytes;
    bool was_packed = false;
  };
  explicit FileView(std::shared_ptr<const Contents> contents) : contents_(std::move(contents)) {}

  std::shared_ptr<const Contents> contents_;
};

// Makes `path` hold exactly `bytes`: written beside it under a new name, synced, renamed. On an
// error `path` is as it was and no other file remains. A link is followed; a device or pipe that
// exists is written to as it is.
Status WriteFileAtomically(const std::string& path, std::string_view bytes,
                           const FileCalls& calls = SystemFileCalls());

}  // namespace hloscope
