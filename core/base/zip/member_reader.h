// ZipMemberReader: a member of a zip archive from its first byte to its last, part by part.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/files/file_parts.h"
#include "core/base/result.h"
#include "core/base/zip.h"

namespace hloscope {

class ZipMemberReader {
 public:
  // `file` is the archive's, `member` one of its members.
  ZipMemberReader(FileParts file, const ZipArchive::Member& member);
  ~ZipMemberReader();
  ZipMemberReader(ZipMemberReader&&) noexcept;
  ZipMemberReader& operator=(ZipMemberReader&&) noexcept;

  // Unpacked bytes that are to come.
  uint64_t left() const { return member_.size - given_; }
  // The next `size` of them, at most left(). After the last one an input error where size or CRC
  // are not as declared, as of ZipArchive::Read.
  Result<std::string> Next(uint64_t size);

 private:
  struct Inflater;
  Result<std::string> Unpack(uint64_t size);
  std::unexpected<Error> Bad(std::string_view what) const;

  FileParts file_;
  ZipArchive::Member member_;
  std::unique_ptr<Inflater> inflater_;  // null: the member is stored as it is
  uint64_t given_ = 0, read_ = 0;       // bytes, unpacked and packed
  uint32_t crc_ = 0;
};

}  // namespace hloscope
