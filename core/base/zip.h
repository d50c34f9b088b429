// Zip archives: members stored or deflated, zip64 included. Nothing is believed of a declared size:
// members grow by what really comes out and are checked by their CRC.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/files/file_parts.h"
#include "core/base/limits.h"
#include "core/base/result.h"

namespace hloscope {

// kStrict is for archives whose members become files: nothing but plain files with plain relative
// names, each name once, in headers and data that fill the file without a gap or an overlap.
enum class ZipRules : uint8_t { kLenient, kStrict };

class ZipArchive {
 public:
  struct Member {
    std::string name;
    uint16_t method = 0;
    uint32_t crc = 0;
    uint64_t packed_size = 0, size = 0;
    uint64_t header_offset = 0, data_offset = 0;
  };

  // Reads the central directory. Input errors: not a zip file, encrypted members or unknown
  // methods, local headers that contradict the directory, more than the archive limits allow, what
  // the rules refuse.
  static Result<ZipArchive> Open(FileParts file, const Limits& limits = {},
                                 ZipRules rules = ZipRules::kLenient);
  static Result<ZipArchive> Open(FileView file, const Limits& limits = {},
                                 ZipRules rules = ZipRules::kLenient) {
    return Open(FileParts(std::move(file)), limits, rules);
  }

  // In the order of the directory.
  std::span<const Member> members() const { return members_; }
  // The first of that name, or null.
  const Member* Find(std::string_view name) const;
  // The unpacked bytes; an input error if their size or CRC is not as declared.
  Result<std::string> Read(const Member& member) const;
  // The first `size` unpacked bytes, or all where it has fewer, which nothing has checked.
  Result<std::string> ReadHead(const Member& member, uint64_t size) const;
  const std::string& path() const { return file_.path(); }
  const FileParts& file() const { return file_; }

 private:
  struct End {
    uint64_t count = 0, size = 0, offset = 0;  // of the directory
    uint64_t begin = 0, end = 0;               // of the records that say so
    bool has_comment = false;
  };
  ZipArchive(FileParts file, const Limits& limits, ZipRules rules)
      : file_(std::move(file)), limits_(limits), rules_(rules) {}
  // The window [offset, offset + size) of the file, or nothing where it does not fit.
  Result<std::optional<std::string>> Window(uint64_t offset, uint64_t size) const;
  Result<std::optional<End>> FindEnd() const;
  Status ReadDirectory(const End& end);
  Status ReadEntry(std::string_view& directory);
  Status CheckMember(const Member& member, uint64_t flags);
  Status CheckLocalHeader(Member& member, uint64_t flags) const;
  Status CheckPlain(const Member& member, uint64_t made_by, uint64_t attributes) const;
  Status CheckNoGaps(const End& end) const;
  std::unexpected<Error> Bad(std::string_view what) const;
  std::unexpected<Error> OverLimit(std::string_view what, std::string_view limit) const;

  FileParts file_;
  Limits limits_;
  ZipRules rules_;
  std::vector<Member> members_;
  uint64_t total_size_ = 0;
};

// Why a strict archive may not have a member of that name; empty: it may. Names are relative, in
// parts of printable ASCII without `\` and `:`, none of which is empty, `.` or `..` or ends in a
// dot or space.
std::string_view UnsafeName(std::string_view name);

struct ZipEntry {
  std::string name;
  std::string_view bytes;
  bool deflate = false;
};

// An archive of these members, the same bytes every time. Sizes and places from `wide_from` on are
// written as zip64 fields, which is what a file of 4 GiB needs. An input error for more members
// than a directory counts.
Result<std::string> WriteZip(std::span<const ZipEntry> entries, uint64_t wide_from = 0xffffffff);

// A member by its sizes alone, before and after packing.
struct ZipMemberSize {
  std::string name;
  uint64_t size = 0, packed = 0;
};
// That of an entry.
ZipMemberSize SizeOfEntry(const ZipEntry& entry);
// The size of the archive that WriteZip writes of members of these sizes.
uint64_t BytesOfZip(std::span<const ZipMemberSize> members, uint64_t wide_from = 0xffffffff);

}  // namespace hloscope
