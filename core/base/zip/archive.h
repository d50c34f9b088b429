// Archives of files, read like folders: zip and tar. Packed tar files were unpacked by FileView.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/file.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/zip.h"

namespace hloscope {

// Whether a file of that name is meant as an archive: .zip, .tar, .tar.gz, .tgz in any capitals.
bool IsArchiveName(std::string_view path);

class Archive {
 public:
  struct Member {
    std::string name;  // relative, without `.` and `..`
    int64_t bytes = 0;
    int64_t modified_ns = 0;  // 0: not known
    size_t at = 0;            // where its bytes are
  };

  // Input errors: neither zip nor tar, cut off, more than the archive limits allow.
  static Result<Archive> Open(const FileView& file, const Limits& limits);

  // The regular files, by name.
  std::span<const Member> members() const { return members_; }
  const Member* Find(std::string_view name) const;
  const Limits& limits() const { return limits_; }
  // What was left out, and why: names that lead outside, links, devices.
  std::span<const std::string> warnings() const { return warnings_; }
  // The bytes, called `path`; gzip data are unpacked.
  Result<FileView> Read(const Member& member, std::string path) const;

 private:
  Archive(FileView file, const Limits& limits) : file_(std::move(file)), limits_(limits) {}
  Status ListZip();
  Status ListTar();
  Status Add(std::string name, Member member);

  FileView file_;
  Limits limits_;
  std::optional<ZipArchive> zip_;
  std::vector<Member> members_;
  std::vector<std::string> warnings_;
};

}  // namespace hloscope
