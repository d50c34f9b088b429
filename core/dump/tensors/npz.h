// .npz archives: zip files of .npy members, stored or deflated, zip64 included. Nothing is believed
// of a declared size: members grow by what really comes out and are checked by their CRC.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/file.h"
#include "core/base/limits.h"
#include "core/base/result.h"

namespace hloscope::dump {

class NpzArchive {
 public:
  // Reads the central directory. Input errors: not a zip file, encrypted or unknown members, local
  // headers that contradict the directory, more than the archive limits allow.
  static Result<NpzArchive> Open(FileView file, const Limits& limits = {});

  // Member names without their ".npy", in the order of the archive.
  std::vector<std::string> Names() const;
  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  // The unpacked .npy file of the member called `name`; an input error if there is none, or if its
  // size or CRC is not as declared.
  Result<std::string> Read(std::string_view name) const;
  const std::string& path() const { return file_.path(); }

 private:
  struct Member {
    std::string name;
    uint16_t method = 0;
    uint32_t crc = 0;
    uint64_t packed_size = 0, size = 0;
    uint64_t data_offset = 0;
  };
  NpzArchive(FileView file, const Limits& limits) : file_(std::move(file)), limits_(limits) {}
  const Member* Find(std::string_view name) const;
  Status ReadDirectory(uint64_t offset, uint64_t size, uint64_t count);
  Status ReadEntry(std::string_view& directory);
  Status CheckMember(const Member& member, uint64_t flags);
  Status CheckLocalHeader(Member& member, uint64_t offset) const;
  std::unexpected<Error> Bad(std::string_view what) const;

  FileView file_;
  Limits limits_;
  std::vector<Member> members_;
  uint64_t total_size_ = 0;
};

// An archive of the members (name without ".npy", bytes of the .npy file), stored. Sizes and places
// from `wide_from` on are written as zip64 fields, which is what a file of 4 GiB needs. An input
// error for more members than a directory counts.
Result<std::string> WriteNpz(std::span<const std::pair<std::string, std::string>> members,
                             uint64_t wide_from = 0xffffffff);

}  // namespace hloscope::dump
