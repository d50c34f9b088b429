// Writing zip archives.
#include "core/base/zip/zip_writer.h"

#include <fmt/format.h>
#include <zlib.h>

#include "core/base/counted.h"
#include "core/base/deflate.h"
#include "core/base/zip/zip_format.h"

namespace hloscope {
namespace {

using namespace zip;  // NOLINT: the records of the format

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

}  // namespace

Status ZipWriter::CheckCount(size_t members) {
  if (members < kMaxMembers) return {};
  return InputError(fmt::format("{} are too many for a zip file", Counted(members, "member")),
                    "write them to a directory");
}

Status ZipWriter::Write(std::string_view bytes) {
  if (status_.has_value() && !bytes.empty()) status_ = sink_(bytes);
  written_ += bytes.size();
  return status_;
}

Status ZipWriter::Add(const ZipEntry& entry) {
  const std::string deflated = entry.deflate ? Deflate(entry.bytes, 6) : std::string();
  const std::string_view data = deflated.empty() ? entry.bytes : deflated;
  return AddMember(entry.name, std::span(&data, 1), {entry.bytes.size(), data.size()},
                   Crc32(entry.bytes), deflated.empty() ? kStored : kDeflated);
}

Status ZipWriter::AddStored(std::string_view name, std::span<const std::string_view> pieces) {
  uint64_t size = 0;
  uLong crc = crc32_z(0, nullptr, 0);
  for (const std::string_view piece : pieces) {
    size += piece.size();
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(piece.data()), piece.size());
  }
  return AddMember(name, pieces, {size, size}, static_cast<uint32_t>(crc), kStored);
}

Status ZipWriter::AddMember(std::string_view name, std::span<const std::string_view> pieces,
                            Sizes size, uint32_t crc, uint16_t method) {
  const uint64_t offset = written_, sizes[] = {size.unpacked, size.packed, offset};
  const std::string local = Zip64Field(std::span(sizes).first(2), wide_from_);
  const std::string central = Zip64Field(sizes, wide_from_);
  const uint64_t version = central.empty() ? 20 : 45;
  std::string common;  // from "version needed" to "name size", in both headers alike
  Append(common, version, 2);
  Append(common, 0, 2);  // flags
  Append(common, method, 2);
  Append(common, uint64_t{0x21} << 16, 4);  // 1980-01-01: the same bytes every time
  Append(common, crc, 4);
  AppendNarrow(common, sizes[1], wide_from_);
  AppendNarrow(common, sizes[0], wide_from_);
  Append(common, name.size(), 2);
  std::string head;
  Append(head, kLocalHeader, 4);
  head += common;
  Append(head, local.size(), 2);
  head.append(name).append(local);
  HLOSCOPE_TRY(Write(head));
  for (const std::string_view piece : pieces) HLOSCOPE_TRY(Write(piece));
  ++count_;
  Append(directory_, kCentralHeader, 4);
  Append(directory_, version, 2);
  directory_ += common;
  Append(directory_, central.size(), 2);
  Append(directory_, 0, 10);  // comment, disk, attributes
  AppendNarrow(directory_, offset, wide_from_);
  directory_.append(name).append(central);
  return {};
}

Status ZipWriter::Finish() {
  const uint64_t offset = written_, size = directory_.size();
  std::string end;
  if (size >= wide_from_ || offset >= wide_from_) {
    const uint64_t record = offset + size;
    Append(end, kEnd64Record, 4);
    Append(end, kEnd64RecordBytes - 12, 8);
    Append(end, 45, 2);
    Append(end, 45, 2);
    Append(end, 0, 8);  // disks
    for (const uint64_t value : {count_, count_, size, offset}) Append(end, value, 8);
    Append(end, kEnd64Locator, 4);
    Append(end, 0, 4);
    Append(end, record, 8);
    Append(end, 1, 4);
  }
  Append(end, kEndRecord, 4);
  Append(end, 0, 4);
  Append(end, count_, 2);
  Append(end, count_, 2);
  AppendNarrow(end, size, wide_from_);
  AppendNarrow(end, offset, wide_from_);
  Append(end, 0, 2);
  HLOSCOPE_TRY(Write(directory_));
  return Write(end);
}

Result<std::string> WriteZip(std::span<const ZipEntry> entries, uint64_t wide_from) {
  HLOSCOPE_TRY(ZipWriter::CheckCount(entries.size()));
  std::string out;
  // What is not packed, and headers; the rest grows.
  constexpr size_t kHeaders = 256;
  size_t size = kHeaders;
  for (const ZipEntry& entry : entries) size += (entry.deflate ? 0 : entry.bytes.size()) + kHeaders;
  out.reserve(size);
  ZipWriter writer(
      [&](std::string_view bytes) -> Status {
        out += bytes;
        return {};
      },
      wide_from);
  for (const ZipEntry& entry : entries) HLOSCOPE_TRY(writer.Add(entry));
  HLOSCOPE_TRY(writer.Finish());
  return out;
}

ZipMemberSize SizeOfEntry(const ZipEntry& entry) {
  const size_t deflated = entry.deflate ? Deflate(entry.bytes, 6).size() : 0;
  return {entry.name, entry.bytes.size(), deflated == 0 ? entry.bytes.size() : deflated};
}

uint64_t BytesOfZip(std::span<const ZipMemberSize> members, uint64_t wide_from) {
  uint64_t out = 0, directory = 0;
  for (const ZipMemberSize& member : members) {
    const uint64_t sizes[] = {member.size, member.packed, out};
    const uint64_t name = member.name.size();
    directory += kCentralHeaderBytes + name + Zip64Field(sizes, wide_from).size();
    out += kLocalHeaderBytes + name + Zip64Field(std::span(sizes).first(2), wide_from).size();
    out += member.packed;
  }
  const bool is_wide = directory >= wide_from || out >= wide_from;
  return out + directory + (is_wide ? kEnd64RecordBytes + kEnd64LocatorBytes : 0) + kEndRecordBytes;
}

}  // namespace hloscope
