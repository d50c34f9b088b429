// Reading and writing zip archives of .npy files.
#include "core/dump/tensors/npz.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <optional>

#include "core/base/checked.h"

namespace hloscope::dump {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50;
constexpr uint32_t kEndRecord = 0x06054b50, kEnd64Record = 0x06064b50, kEnd64Locator = 0x07064b50;
constexpr size_t kLocalHeaderBytes = 30, kCentralHeaderBytes = 46, kEndRecordBytes = 22;
constexpr size_t kEnd64RecordBytes = 56, kEnd64LocatorBytes = 20;
constexpr uint64_t kIn64 = 0xffffffffu;  // "the zip64 field has it"
constexpr uint16_t kZip64Field = 1, kStored = 0, kDeflated = 8;
constexpr uint16_t kEncryptedFlag = 1, kSizesFollowFlag = 8;
constexpr uint64_t kMostMembers = 0xffff;
constexpr size_t kPiece = size_t{1} << 30;  // zlib counts in 32 bits

uint64_t Field(std::string_view bytes, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

// The window [offset, offset + size) of `bytes`, or nothing where it does not fit.
std::optional<std::string_view> Window(std::string_view bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
  return bytes.substr(offset, size);
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

struct End {
  uint64_t count, size, offset;
};

std::optional<End> FindEnd(std::string_view bytes) {
  if (bytes.size() < kEndRecordBytes) return std::nullopt;
  const size_t lowest = bytes.size() - std::min<size_t>(bytes.size(), kEndRecordBytes + 0xffff);
  for (size_t at = bytes.size() - kEndRecordBytes + 1; at-- > lowest;) {
    if (Field(bytes, at, 4) != kEndRecord) continue;
    End end{Field(bytes, at + 10, 2), Field(bytes, at + 12, 4), Field(bytes, at + 16, 4)};
    const bool zip64 = end.count == 0xffff || end.size == kIn64 || end.offset == kIn64;
    if (!zip64 || at < kEnd64LocatorBytes) return end;
    const size_t locator = at - kEnd64LocatorBytes;
    if (Field(bytes, locator, 4) != kEnd64Locator) return end;
    const auto record = Window(bytes, Field(bytes, locator + 8, 8), kEnd64RecordBytes);
    if (!record || Field(*record, 0, 4) != kEnd64Record) return std::nullopt;
    return End{Field(*record, 32, 8), Field(*record, 40, 8), Field(*record, 48, 8)};
  }
  return std::nullopt;
}

// Inflates raw deflate data that must come out exactly `size` long; grows by what arrives.
std::optional<std::string> Inflate(std::string_view packed, uint64_t size) {
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return std::nullopt;
  std::string out;
  int status = Z_OK;
  while (status == Z_OK && out.size() <= size) {
    if (stream.avail_in == 0) {
      const size_t piece = std::min(packed.size(), kPiece);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
      stream.avail_in = static_cast<uInt>(piece);
      packed.remove_prefix(piece);
    }
    const size_t have = out.size();
    const size_t growth = std::min(std::max<size_t>(have, 1 << 16), kPiece);
    const size_t room = std::min<uint64_t>(growth, size - have + 1);
    out.resize(have + room);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + have);
    stream.avail_out = static_cast<uInt>(room);
    status = inflate(&stream, Z_NO_FLUSH);
    out.resize(have + room - stream.avail_out);
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END || out.size() != size) return std::nullopt;
  return out;
}

uint32_t Crc(std::string_view bytes) {
  uLong crc = crc32(0, nullptr, 0);
  for (size_t at = 0; at < bytes.size(); at += kPiece) {
    const std::string_view piece = bytes.substr(at, kPiece);
    crc = crc32(crc, reinterpret_cast<const Bytef*>(piece.data()), static_cast<uInt>(piece.size()));
  }
  return static_cast<uint32_t>(crc);
}

void Append(std::string& out, uint64_t value, int size) {
  for (int i = 0; i < size; ++i) out += static_cast<char>(i < 8 ? value >> (8 * i) : 0);
}

// The zip64 field of those values that do not fit into 32 bits, in their fixed order.
std::string Zip64Field(std::span<const uint64_t> values, uint64_t wide_from) {
  std::string wide, field;
  for (const uint64_t value : values) {
    if (value >= wide_from) Append(wide, value, 8);
  }
  if (wide.empty()) return field;
  Append(field, kZip64Field, 2);
  Append(field, wide.size(), 2);
  return field + wide;
}
void AppendNarrow(std::string& out, uint64_t value, uint64_t wide_from) {
  Append(out, value >= wide_from ? kIn64 : value, 4);
}

// A stored member behind `out`, and its entry behind `directory`.
void AppendMember(std::string& out, std::string& directory, const std::string& name,
                  const std::string& bytes, uint64_t wide_from) {
  const uint64_t offset = out.size(), size = bytes.size(), sizes[] = {size, size, offset};
  const std::string local = Zip64Field(std::span(sizes).first(2), wide_from);
  const std::string central = Zip64Field(sizes, wide_from);
  const uint64_t version = central.empty() ? 20 : 45;
  std::string common;  // from "version needed" to "name size", in both headers alike
  Append(common, version, 2);
  Append(common, 0, 2);  // flags
  Append(common, kStored, 2);
  Append(common, uint64_t{0x21} << 16, 4);  // 1980-01-01: the same bytes every time
  Append(common, Crc(bytes), 4);
  AppendNarrow(common, size, wide_from);
  AppendNarrow(common, size, wide_from);
  Append(common, name.size() + 4, 2);
  Append(out, kLocalHeader, 4);
  out += common;
  Append(out, local.size(), 2);
  out.append(name).append(".npy").append(local).append(bytes);
  Append(directory, kCentralHeader, 4);
  Append(directory, version, 2);
  directory += common;
  Append(directory, central.size(), 2);
  Append(directory, 0, 10);  // comment, disk, attributes
  AppendNarrow(directory, offset, wide_from);
  directory.append(name).append(".npy").append(central);
}

// The directory and the records that say where it is.
void AppendEnd(std::string& out, const std::string& directory, uint64_t count, uint64_t wide_from) {
  const uint64_t offset = out.size(), size = directory.size();
  out += directory;
  if (size >= wide_from || offset >= wide_from) {
    const uint64_t record = out.size();
    Append(out, kEnd64Record, 4);
    Append(out, kEnd64RecordBytes - 12, 8);
    Append(out, 45, 2);
    Append(out, 45, 2);
    Append(out, 0, 8);  // disks
    for (const uint64_t value : {count, count, size, offset}) Append(out, value, 8);
    Append(out, kEnd64Locator, 4);
    Append(out, 0, 4);
    Append(out, record, 8);
    Append(out, 1, 4);
  }
  Append(out, kEndRecord, 4);
  Append(out, 0, 4);
  Append(out, count, 2);
  Append(out, count, 2);
  AppendNarrow(out, size, wide_from);
  AppendNarrow(out, offset, wide_from);
  Append(out, 0, 2);
}

}  // namespace

std::unexpected<Error> NpzArchive::Bad(std::string_view what) const {
  return InputError(fmt::format("{}: {}", file_.path(), what));
}

Result<NpzArchive> NpzArchive::Open(FileView file, const Limits& limits) {
  NpzArchive archive(std::move(file), limits);
  const auto end = FindEnd(archive.file_.bytes());
  if (!end) return archive.Bad("not a .npz file (no zip directory at its end)");
  HLOSCOPE_TRY(archive.ReadDirectory(end->offset, end->size, end->count));
  return archive;
}

Status NpzArchive::ReadDirectory(uint64_t offset, uint64_t size, uint64_t count) {
  auto directory = Window(file_.bytes(), offset, size);
  if (!directory) return Bad("the zip directory lies outside the file");
  if (std::cmp_greater(count, limits_.archive_members)) {
    return Bad(
        fmt::format("more than {} members (limit archive-members)", limits_.archive_members));
  }
  for (uint64_t i = 0; i < count; ++i) HLOSCOPE_TRY(ReadEntry(*directory));
  return {};
}

Status NpzArchive::ReadEntry(std::string_view& directory) {
  if (directory.size() < kCentralHeaderBytes || Field(directory, 0, 4) != kCentralHeader) {
    return Bad("the zip directory is broken");
  }
  Member member;
  const uint64_t flags = Field(directory, 8, 2);
  member.method = static_cast<uint16_t>(Field(directory, 10, 2));
  member.crc = static_cast<uint32_t>(Field(directory, 16, 4));
  member.packed_size = Field(directory, 20, 4);
  member.size = Field(directory, 24, 4);
  uint64_t offset = Field(directory, 42, 4);
  const uint64_t name_size = Field(directory, 28, 2), extra_size = Field(directory, 30, 2);
  const uint64_t comment_size = Field(directory, 32, 2);
  const auto rest = Window(directory, kCentralHeaderBytes, name_size + extra_size + comment_size);
  if (!rest) return Bad("the zip directory is cut off");
  member.name = rest->substr(0, name_size);
  uint64_t* const wide[] = {&member.size, &member.packed_size, &offset};
  if (!TakeZip64(rest->substr(name_size, extra_size), wide)) return Bad("a zip64 field is broken");
  directory.remove_prefix(kCentralHeaderBytes + rest->size());
  HLOSCOPE_TRY(CheckMember(member, flags));
  HLOSCOPE_TRY(CheckLocalHeader(member, offset));
  members_.push_back(std::move(member));
  return {};
}

Status NpzArchive::CheckMember(const Member& member, uint64_t flags) {
  if ((flags & kEncryptedFlag) != 0) return Bad(member.name + " is encrypted");
  if (member.method != kStored && member.method != kDeflated) {
    return Bad(fmt::format("{} is packed by method {}; stored and deflated are read", member.name,
                           member.method));
  }
  const auto ratio = static_cast<uint64_t>(limits_.compression_ratio);
  total_size_ += member.size;
  if (std::cmp_greater(member.size, limits_.archive_member_bytes) ||
      member.size / ratio > member.packed_size ||
      std::cmp_greater(total_size_, limits_.archive_bytes)) {
    return Bad(member.name + " unpacks to more than the archive limits allow");
  }
  return {};
}

Status NpzArchive::CheckLocalHeader(Member& member, uint64_t offset) const {
  const auto header = Window(file_.bytes(), offset, kLocalHeaderBytes);
  if (!header || Field(*header, 0, 4) != kLocalHeader) {
    return Bad(member.name + " has no local header");
  }
  const uint64_t name_size = Field(*header, 26, 2), extra_size = Field(*header, 28, 2);
  const auto rest = Window(file_.bytes(), offset + kLocalHeaderBytes, name_size + extra_size);
  if (!rest || rest->substr(0, name_size) != member.name) {
    return Bad(member.name + ": local header and directory differ in the name");
  }
  uint64_t packed = Field(*header, 18, 4), size = Field(*header, 22, 4);
  uint64_t* const wide[] = {&size, &packed};
  if (!TakeZip64(rest->substr(name_size), wide)) return Bad("a zip64 field is broken");
  const bool sizes_follow = (Field(*header, 6, 2) & kSizesFollowFlag) != 0;
  if (Field(*header, 8, 2) != member.method ||
      (!sizes_follow && (packed != member.packed_size || size != member.size))) {
    return Bad(member.name + ": local header and directory differ");
  }
  member.data_offset = offset + kLocalHeaderBytes + rest->size();
  if (!Window(file_.bytes(), member.data_offset, member.packed_size)) {
    return Bad(member.name + " lies outside the file");
  }
  return {};
}

const NpzArchive::Member* NpzArchive::Find(std::string_view name) const {
  for (const Member& member : members_) {
    std::string_view plain = member.name;
    if (plain.ends_with(".npy")) plain.remove_suffix(4);
    if (plain == name) return &member;
  }
  return nullptr;
}

std::vector<std::string> NpzArchive::Names() const {
  std::vector<std::string> names;
  for (const Member& member : members_) {
    names.push_back(member.name);
    if (names.back().ends_with(".npy")) names.back().resize(names.back().size() - 4);
  }
  return names;
}

Result<std::string> NpzArchive::Read(std::string_view name) const {
  const Member* member = Find(name);
  if (member == nullptr) return Bad(fmt::format("there is no member {}", name));
  const std::string_view packed = file_.bytes().substr(member->data_offset, member->packed_size);
  std::optional<std::string> bytes;
  if (member->method == kDeflated) {
    bytes = Inflate(packed, member->size);
  } else if (packed.size() == member->size) {
    bytes = std::string(packed);
  }
  if (!bytes) return Bad(fmt::format("{} does not unpack to its declared size", member->name));
  if (Crc(*bytes) != member->crc) return Bad(member->name + " is damaged (wrong CRC)");
  return *std::move(bytes);
}

Result<std::string> WriteNpz(std::span<const std::pair<std::string, std::string>> members,
                             uint64_t wide_from) {
  if (members.size() >= kMostMembers) {
    return InputError(fmt::format("{} values are too many for one .npz file", members.size()),
                      "write them to a directory");
  }
  std::string out, directory;
  for (const auto& [name, bytes] : members) AppendMember(out, directory, name, bytes, wide_from);
  AppendEnd(out, directory, members.size(), wide_from);
  return out;
}

}  // namespace hloscope::dump
