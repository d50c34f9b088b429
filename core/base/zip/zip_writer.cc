// Writing zip archives.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/counted.h"
#include "core/base/deflate.h"
#include "core/base/zip.h"
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

// A member behind `out`, and its entry behind `directory`.
void AppendMember(std::string& out, std::string& directory, const ZipEntry& entry,
                  uint64_t wide_from) {
  const std::string deflated = entry.deflate ? Deflate(entry.bytes, 6) : std::string();
  const std::string_view data = deflated.empty() ? entry.bytes : deflated;
  const uint64_t offset = out.size(), sizes[] = {entry.bytes.size(), data.size(), offset};
  const std::string local = Zip64Field(std::span(sizes).first(2), wide_from);
  const std::string central = Zip64Field(sizes, wide_from);
  const uint64_t version = central.empty() ? 20 : 45;
  std::string common;  // from "version needed" to "name size", in both headers alike
  Append(common, version, 2);
  Append(common, 0, 2);  // flags
  Append(common, deflated.empty() ? kStored : kDeflated, 2);
  Append(common, uint64_t{0x21} << 16, 4);  // 1980-01-01: the same bytes every time
  Append(common, Crc32(entry.bytes), 4);
  AppendNarrow(common, sizes[1], wide_from);
  AppendNarrow(common, sizes[0], wide_from);
  Append(common, entry.name.size(), 2);
  Append(out, kLocalHeader, 4);
  out += common;
  Append(out, local.size(), 2);
  out.append(entry.name).append(local).append(data);
  Append(directory, kCentralHeader, 4);
  Append(directory, version, 2);
  directory += common;
  Append(directory, central.size(), 2);
  Append(directory, 0, 10);  // comment, disk, attributes
  AppendNarrow(directory, offset, wide_from);
  directory.append(entry.name).append(central);
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

Result<std::string> WriteZip(std::span<const ZipEntry> entries, uint64_t wide_from) {
  if (entries.size() >= kMaxMembers) {
    return InputError(
        fmt::format("{} are too many for a zip file", Counted(entries.size(), "member")),
        "write them to a directory");
  }
  std::string out, directory;
  for (const ZipEntry& entry : entries) AppendMember(out, directory, entry, wide_from);
  AppendEnd(out, directory, entries.size(), wide_from);
  return out;
}

}  // namespace hloscope
