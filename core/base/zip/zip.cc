// The directory of a zip archive and its members, checked as they are read.
#include "core/base/zip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "core/base/counted.h"
#include "core/base/deflate.h"
#include "core/base/strings.h"
#include "core/base/text.h"
#include "core/base/zip/zip_format.h"

namespace hloscope {
namespace {

using namespace zip;  // NOLINT: the records of the format

constexpr size_t kPiece = size_t{1} << 30;  // zlib counts in 32 bits

uint64_t Field(std::string_view bytes, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

// Values that stand in the zip64 extra field because they did not fit, in their fixed order.
bool TakeZip64(std::string_view extra, std::span<uint64_t* const> values) {
  while (extra.size() >= 4) {
    const uint64_t id = Field(extra, 0, 2), size = Field(extra, 2, 2);
    if (size > extra.size() - 4) return false;
    std::string_view field = extra.substr(4, size);
    extra.remove_prefix(4 + size);
    if (id != kZip64Field) continue;
    for (uint64_t* value : values) {
      if (*value != kIn64) continue;
      if (field.size() < 8) return false;
      *value = Field(field, 0, 8);
      field.remove_prefix(8);
    }
  }
  return true;
}

// Inflates raw deflate data to at most `most` bytes, growing by what arrives; nothing where they
// are broken. `ended`: the data ended, and all of `packed` was used.
std::optional<std::string> Inflate(std::string_view packed, uint64_t most, bool& ended) {
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return std::nullopt;
  std::string out;
  int status = Z_OK;
  while (status == Z_OK && out.size() < most) {
    if (stream.avail_in == 0) {
      const size_t piece = std::min(packed.size(), kPiece);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
      stream.avail_in = static_cast<uInt>(piece);
      packed.remove_prefix(piece);
    }
    const size_t have = out.size();
    const size_t growth = std::min(std::max<size_t>(have, 1 << 16), kPiece);
    const size_t room = std::min<uint64_t>(growth, most - have);
    out.resize(have + room);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + have);
    stream.avail_out = static_cast<uInt>(room);
    status = inflate(&stream, Z_NO_FLUSH);
    out.resize(have + room - stream.avail_out);
  }
  ended = status == Z_STREAM_END && stream.avail_in == 0 && packed.empty();
  inflateEnd(&stream);
  if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) return std::nullopt;
  return out;
}

}  // namespace

std::string_view UnsafeName(std::string_view name) {
  constexpr size_t kMaxBytes = 255;
  if (name.empty()) return "has no name";
  if (name.size() > kMaxBytes) return "has a name of more than 255 bytes";
  if (name.front() == '/') return "has an absolute name";
  for (const char c : name) {
    if (c == '\\' || c == ':') return "has a name with a backslash or a drive";
    if (c < ' ' || c > '~') return "has a name with characters beyond printable ASCII";
  }
  while (true) {
    const size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part == "..") return "has a name that leads out of the folder";
    if (part.empty() || part == ".") return "has a name with an empty part";
    if (part.back() == '.' || part.back() == ' ') return "has a name that ends in a dot or space";
    if (slash == std::string_view::npos) return "";
    name.remove_prefix(slash + 1);
  }
}

std::unexpected<Error> ZipArchive::Bad(std::string_view what) const {
  return InputError(fmt::format("{}: {}", file_.path(), what));
}

std::unexpected<Error> ZipArchive::OverLimit(std::string_view what, std::string_view limit) const {
  return InputError(fmt::format("{}: {}, the limit {}", file_.path(), what, limit),
                    fmt::format("raise it with --limit {}=N", limit));
}

Result<std::optional<std::string>> ZipArchive::Window(uint64_t offset, uint64_t size) const {
  if (offset > file_.size() || size > file_.size() - offset) return std::nullopt;
  return file_.Read(offset, size);
}

Result<std::optional<ZipArchive::End>> ZipArchive::FindEnd() const {
  // The record and its comment, and the locator of zip64 in front of it.
  constexpr uint64_t kFarthest = kEndRecordBytes + 0xffff;
  const uint64_t tail_size = std::min<uint64_t>(file_.size(), kFarthest + kEnd64LocatorBytes);
  const uint64_t tail_at = file_.size() - tail_size;
  HLOSCOPE_ASSIGN_OR_RETURN(const std::string tail, file_.Read(tail_at, tail_size));
  if (tail.size() < kEndRecordBytes) return std::nullopt;
  const size_t lowest = tail.size() - std::min<size_t>(tail.size(), kFarthest);
  for (size_t at = tail.size() - kEndRecordBytes + 1; at-- > lowest;) {
    if (Field(tail, at, 4) != kEndRecord) continue;
    End found = {Field(tail, at + 10, 2),        Field(tail, at + 12, 4),
                 Field(tail, at + 16, 4),        tail_at + at,
                 tail_at + at + kEndRecordBytes, Field(tail, at + kEndRecordBytes - 2, 2) != 0};
    const bool zip64 = found.count == 0xffff || found.size == kIn64 || found.offset == kIn64;
    if (!zip64 || at < kEnd64LocatorBytes) return found;
    const size_t locator = at - kEnd64LocatorBytes;
    if (Field(tail, locator, 4) != kEnd64Locator) return found;
    const uint64_t begin = Field(tail, locator + 8, 8);
    HLOSCOPE_ASSIGN_OR_RETURN(const auto record, Window(begin, kEnd64RecordBytes));
    if (!record || Field(*record, 0, 4) != kEnd64Record) return std::nullopt;
    found.count = Field(*record, 32, 8);
    found.size = Field(*record, 40, 8);
    found.offset = Field(*record, 48, 8);
    // In between lies nothing but the record and its locator.
    found.begin = begin + kEnd64RecordBytes == tail_at + locator ? begin : file_.size();
    return found;
  }
  return std::nullopt;
}

Result<ZipArchive> ZipArchive::Open(FileParts file, const Limits& limits, ZipRules rules) {
  ZipArchive archive(std::move(file), limits, rules);
  HLOSCOPE_ASSIGN_OR_RETURN(const std::optional<End> end, archive.FindEnd());
  if (!end) return archive.Bad("not a zip file (no zip directory at its end)");
  HLOSCOPE_TRY(archive.ReadDirectory(*end));
  if (rules == ZipRules::kStrict) HLOSCOPE_TRY(archive.CheckNoGaps(*end));
  return archive;
}

Status ZipArchive::ReadDirectory(const End& end) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto directory, Window(end.offset, end.size));
  if (!directory) return Bad("the zip directory lies outside the file");
  if (std::cmp_greater(end.count, limits_.archive_members)) {
    return OverLimit(fmt::format("more than {}", Counted(limits_.archive_members, "member")),
                     "archive-members");
  }
  std::string_view left = *directory;
  for (uint64_t i = 0; i < end.count; ++i) HLOSCOPE_TRY(ReadEntry(left));
  if (rules_ == ZipRules::kStrict && !left.empty()) {
    return Bad("the zip directory has more entries than it declares");
  }
  return {};
}

Status ZipArchive::ReadEntry(std::string_view& directory) {
  if (directory.size() < kCentralHeaderBytes || Field(directory, 0, 4) != kCentralHeader) {
    return Bad("the zip directory is broken");
  }
  Member member;
  const uint64_t made_by = Field(directory, 5, 1), attributes = Field(directory, 38, 4);
  const uint64_t flags = Field(directory, 8, 2);
  member.method = static_cast<uint16_t>(Field(directory, 10, 2));
  member.crc = static_cast<uint32_t>(Field(directory, 16, 4));
  member.packed_size = Field(directory, 20, 4);
  member.size = Field(directory, 24, 4);
  member.header_offset = Field(directory, 42, 4);
  const uint64_t name_size = Field(directory, 28, 2), extra_size = Field(directory, 30, 2);
  const uint64_t comment_size = Field(directory, 32, 2);
  directory.remove_prefix(kCentralHeaderBytes);
  const std::string_view rest = directory.substr(0, name_size + extra_size + comment_size);
  if (rest.size() < name_size + extra_size + comment_size) {
    return Bad("the zip directory is cut off");
  }
  member.name = rest.substr(0, name_size);
  uint64_t* const wide[] = {&member.size, &member.packed_size, &member.header_offset};
  if (!TakeZip64(rest.substr(name_size, extra_size), wide)) return Bad("a zip64 field is broken");
  directory.remove_prefix(rest.size());
  if (rules_ == ZipRules::kStrict) HLOSCOPE_TRY(CheckPlain(member, made_by, attributes));
  HLOSCOPE_TRY(CheckMember(member, flags));
  HLOSCOPE_TRY(CheckLocalHeader(member, flags));
  members_.push_back(std::move(member));
  return {};
}

Status ZipArchive::CheckPlain(const Member& member, uint64_t made_by, uint64_t attributes) const {
  if (const std::string_view why = UnsafeName(member.name); !why.empty()) {
    return Bad(fmt::format("member {} {}", EscapeForTerminal(member.name), why));
  }
  constexpr uint64_t kUnix = 3, kMacOs = 19, kFolder = 0x10, kKind = 0xf000, kPlainFile = 0x8000;
  constexpr uint64_t kLink = 0xa000;
  const uint64_t kind = made_by == kUnix || made_by == kMacOs ? attributes >> 16 & kKind : 0;
  if (kind == kLink) return Bad("member " + member.name + " is a link");
  if ((kind != 0 && kind != kPlainFile) || (attributes & kFolder) != 0) {
    return Bad("member " + member.name + " is not a plain file");
  }
  return {};
}

Status ZipArchive::CheckMember(const Member& member, uint64_t flags) {
  const std::string name = EscapeForTerminal(member.name);
  if ((flags & kEncryptedFlag) != 0) return Bad(name + " is encrypted");
  if (member.method != kStored && member.method != kDeflated) {
    return Bad(fmt::format("{} is packed by method {}; stored and deflated are read", name,
                           member.method));
  }
  const auto ratio = static_cast<uint64_t>(limits_.compression_ratio);
  total_size_ += member.size;
  const int64_t most = std::min(limits_.archive_member_bytes, limits_.file_memory_bytes);
  if (std::cmp_greater(member.size, most)) {
    return OverLimit(fmt::format("{} decompresses to more than {}", name, Counted(most, "byte")),
                     most == limits_.archive_member_bytes ? "archive-member" : "file-memory");
  }
  if (member.size / ratio > member.packed_size) {
    return OverLimit(
        fmt::format("{} decompresses to more than {} its size", name, Counted(ratio, "time")),
        "compression-ratio");
  }
  if (std::cmp_greater(total_size_, limits_.archive_bytes)) {
    return OverLimit(
        "its members decompress to more than " + Counted(limits_.archive_bytes, "byte"), "archive");
  }
  return {};
}

Status ZipArchive::CheckLocalHeader(Member& member, uint64_t flags) const {
  const std::string shown = EscapeForTerminal(member.name);
  HLOSCOPE_ASSIGN_OR_RETURN(const auto header, Window(member.header_offset, kLocalHeaderBytes));
  if (!header || Field(*header, 0, 4) != kLocalHeader) return Bad(shown + " has no local header");
  const uint64_t name_size = Field(*header, 26, 2), extra_size = Field(*header, 28, 2);
  HLOSCOPE_ASSIGN_OR_RETURN(
      const auto rest, Window(member.header_offset + kLocalHeaderBytes, name_size + extra_size));
  if (!rest || !std::string_view(*rest).starts_with(member.name) ||
      name_size != member.name.size()) {
    return Bad(shown + ": local header and directory differ in the name");
  }
  uint64_t packed = Field(*header, 18, 4), size = Field(*header, 22, 4);
  uint64_t* const wide[] = {&size, &packed};
  if (!TakeZip64(std::string_view(*rest).substr(name_size), wide))
    return Bad("a zip64 field is broken");
  const uint64_t local_flags = Field(*header, 6, 2);
  const bool sizes_follow = (local_flags & kSizesFollowFlag) != 0;
  const bool same = packed == member.packed_size && size == member.size;
  if (Field(*header, 8, 2) != member.method || (!sizes_follow && !same)) {
    return Bad(shown + ": local header and directory differ");
  }
  if (rules_ == ZipRules::kStrict) {
    if (sizes_follow) return Bad(shown + ": its sizes follow its data");
    if (local_flags != flags || Field(*header, 14, 4) != member.crc) {
      return Bad(shown + ": local header and directory differ");
    }
  }
  member.data_offset = member.header_offset + kLocalHeaderBytes + rest->size();
  if (member.packed_size > file_.size() - member.data_offset) {
    return Bad(shown + " lies outside the file");
  }
  return {};
}

Status ZipArchive::CheckNoGaps(const End& end) const {
  std::set<std::string> names;
  std::vector<const Member*> order;
  for (const Member& member : members_) {
    // Some file systems do not tell letters by case.
    if (!names.insert(AsciiStrToLower(member.name)).second) {
      return Bad("there are two members called " + member.name);
    }
    order.push_back(&member);
  }
  std::ranges::sort(order, {}, &Member::header_offset);
  uint64_t at = 0;
  for (const Member* member : order) {
    if (member->header_offset < at) return Bad(member->name + " overlaps another member");
    if (member->header_offset > at) return Bad("there are bytes that belong to no member");
    at = member->data_offset + member->packed_size;
  }
  if (end.offset < at) return Bad("a member overlaps the zip directory");
  if (end.offset > at || end.offset + end.size != end.begin || end.end != file_.size() ||
      end.has_comment) {
    return Bad("there are bytes that belong to no member");
  }
  return {};
}

const ZipArchive::Member* ZipArchive::Find(std::string_view name) const {
  const auto found = std::ranges::find(members_, name, &Member::name);
  return found == members_.end() ? nullptr : &*found;
}

Result<std::string> ZipArchive::Read(const Member& member) const {
  const std::string shown = EscapeForTerminal(member.name);
  HLOSCOPE_ASSIGN_OR_RETURN(std::string bytes, file_.Read(member.data_offset, member.packed_size));
  bool ended = true;
  if (member.method == kDeflated) {
    std::optional<std::string> out = Inflate(bytes, member.size + 1, ended);
    ended = ended && out;
    if (out) bytes = *std::move(out);
  }
  if (!ended || bytes.size() != member.size) {
    return Bad(fmt::format("{} does not unpack to its declared size", shown));
  }
  if (Crc32(bytes) != member.crc) return Bad(shown + " is damaged (wrong CRC)");
  return bytes;
}

Result<std::string> ZipArchive::ReadHead(const Member& member, uint64_t size) const {
  size = std::min(size, member.size);
  // Data that deflate does not make smaller take a few bytes more.
  const uint64_t packed = member.method == kDeflated ? size + size / 16 + 64 : size;
  HLOSCOPE_ASSIGN_OR_RETURN(std::string bytes,
                            file_.Read(member.data_offset, std::min(packed, member.packed_size)));
  if (member.method != kDeflated) return bytes;
  bool ended = false;
  std::optional<std::string> out = Inflate(bytes, size, ended);
  if (!out) {
    return Bad(EscapeForTerminal(member.name) + " does not unpack to its declared size");
  }
  return *std::move(out);
}

}  // namespace hloscope
