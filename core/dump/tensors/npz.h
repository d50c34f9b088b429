// .npz archives: zip files of .npy members.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/files/file_parts.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/base/zip.h"
#include "core/base/zip/member_reader.h"

namespace hloscope::dump {

class NpzArchive {
 public:
  // Input errors as of ZipArchive.
  static Result<NpzArchive> Open(FileParts file, const Limits& limits = {});
  static Result<NpzArchive> Open(FileView file, const Limits& limits = {}) {
    return Open(FileParts(std::move(file)), limits);
  }

  // Member names without their ".npy", in the order of the archive.
  std::vector<std::string> Names() const;
  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  // The unpacked .npy file of the member called `name`; an input error if there is none, or if its
  // size or CRC is not as declared.
  Result<std::string> Read(std::string_view name) const;
  // Its first `size` bytes, or all where it has fewer; nothing checks them.
  Result<std::string> ReadHead(std::string_view name, uint64_t size) const;
  // From its first byte to its last, part by part.
  Result<ZipMemberReader> Reader(std::string_view name) const;
  // How many bytes it has by the directory; 0 where there is none.
  uint64_t SizeOf(std::string_view name) const;
  const std::string& path() const { return zip_.path(); }

 private:
  explicit NpzArchive(ZipArchive zip) : zip_(std::move(zip)) {}
  const ZipArchive::Member* Find(std::string_view name) const;

  ZipArchive zip_;
};

// An archive of the members (name without ".npy", bytes of the .npy file), stored. As WriteZip.
Result<std::string> WriteNpz(std::span<const std::pair<std::string, std::string>> members,
                             uint64_t wide_from = 0xffffffff);

// The size of such an archive of members of these sizes.
uint64_t BytesOfNpz(std::span<const std::pair<std::string, uint64_t>> members);

}  // namespace hloscope::dump
