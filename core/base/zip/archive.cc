// Members by their headers; nothing is written, and no name is followed.
#include "core/base/zip/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/base/counted.h"
#include "core/base/gzip.h"
#include "core/base/strings.h"

namespace hloscope {
namespace {

constexpr size_t kBlock = 512;
constexpr size_t kMaxWarnings = 20;

bool IsTar(std::string_view bytes) {
  return bytes.size() >= kBlock && bytes.substr(257).starts_with("ustar");
}

// The name in parts that lead nowhere else; empty where it cannot be written so.
std::string PlainName(std::string_view name) {
  std::string plain;
  if (name.starts_with('/') || name.find('\\') != name.npos || name.find('\0') != name.npos)
    return {};
  while (!name.empty()) {
    const size_t end = std::min(name.find('/'), name.size());
    const std::string_view part = name.substr(0, end);
    name.remove_prefix(std::min(end + 1, name.size()));
    if (part == "..") return {};
    if (part.empty() || part == ".") continue;
    if (!plain.empty()) plain += '/';
    plain += part;
  }
  return plain;
}

// A field of a tar header: digits to the base of 8, or the number itself where the first bit is
// set; nullopt for others.
std::optional<int64_t> NumberIn(std::string_view field) {
  if (!field.empty() && (static_cast<unsigned char>(field.front()) & 0x80) != 0) {
    uint64_t value = static_cast<unsigned char>(field.front()) & 0x7f;
    for (const char c : field.substr(1)) {
      if (value >> 54 != 0) return std::nullopt;
      value = value << 8 | static_cast<unsigned char>(c);
    }
    return static_cast<int64_t>(value);
  }
  field.remove_prefix(std::min(field.find_first_not_of(' '), field.size()));
  field = field.substr(0, field.find_first_of(std::string_view(" \0", 2)));
  if (field.empty()) return 0;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value, 8);
  if (error != std::errc() || end != field.data() + field.size() || value < 0) return std::nullopt;
  return value;
}

std::string_view TextIn(std::string_view field) { return field.substr(0, field.find('\0')); }

// Whether the sum in the header is that of its bytes, with blanks for the sum itself.
bool HasRightSum(std::string_view header) {
  int64_t sum = 0;
  for (size_t k = 0; k < kBlock; ++k)
    sum += k >= 148 && k < 156 ? ' ' : static_cast<unsigned char>(header[k]);
  return NumberIn(header.substr(148, 8)) == sum;
}

// "27 path=ir/module.hlo\n": what a header of pax says of the next one.
struct PaxRecords {
  std::optional<std::string> path;
  std::optional<int64_t> size;
};

void ReadPax(std::string_view text, PaxRecords& records) {
  while (!text.empty()) {
    size_t length = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    const auto digits = static_cast<size_t>(end - text.data());
    if (error != std::errc() || length > text.size() || length < digits + 2) return;
    std::string_view record = text.substr(digits + 1, length - digits - 2);
    text.remove_prefix(length);
    if (record.starts_with("path=")) records.path = record.substr(5);
    if (!record.starts_with("size=")) continue;
    record.remove_prefix(5);
    int64_t size = -1;
    std::from_chars(record.data(), record.data() + record.size(), size);
    records.size = size;
  }
}

}  // namespace

bool IsArchiveName(std::string_view path) {
  constexpr std::array<std::string_view, 4> kEnds = {".zip", ".tar", ".tar.gz", ".tgz"};
  const std::string lower = AsciiStrToLower(path);
  return std::ranges::any_of(kEnds, [&](std::string_view end) {
    return lower.size() > end.size() && lower.ends_with(end);
  });
}

Result<Archive> Archive::Open(const FileView& file, const Limits& limits) {
  Archive archive(file, limits);
  if (file.bytes().starts_with("PK")) {
    HLOSCOPE_TRY(archive.ListZip());
  } else if (IsTar(file.bytes())) {
    HLOSCOPE_TRY(archive.ListTar());
  } else {
    Error error{ErrorClass::kInput,
                "not an archive: neither zip nor tar, nor tar packed by gzip",
                {file.path(), 0, 0},
                "unpack it, and give the folder"};
    return std::unexpected(std::move(error));
  }
  std::ranges::stable_sort(archive.members_, {}, &Member::name);
  // Of several members of one name the last one is what unpacking would leave.
  std::ranges::reverse(archive.members_);
  const auto twice = std::ranges::unique(archive.members_, {}, &Member::name);
  archive.members_.erase(twice.begin(), twice.end());
  std::ranges::reverse(archive.members_);
  return archive;
}

Status Archive::Add(std::string name, Member member) {
  member.name = PlainName(name);
  if (member.name.empty()) {
    if (warnings_.size() < kMaxWarnings)
      warnings_.push_back(fmt::format("{}: left out, the name leads out of the archive", name));
    return {};
  }
  if (std::cmp_greater_equal(members_.size(), limits_.archive_members)) {
    return InputError(fmt::format("{}: more than {} in the archive", file_.path(),
                                  Counted(limits_.archive_members, "member")),
                      "raise it with --limit archive-members=N");
  }
  members_.push_back(std::move(member));
  return {};
}

Status Archive::ListZip() {
  HLOSCOPE_ASSIGN_OR_RETURN(zip_, ZipArchive::Open(file_, limits_));
  for (size_t k = 0; k < zip_->members().size(); ++k) {
    const ZipArchive::Member& member = zip_->members()[k];
    if (member.name.ends_with('/')) continue;
    HLOSCOPE_TRY(Add(member.name, {{}, static_cast<int64_t>(member.size), 0, k}));
  }
  return {};
}

Status Archive::ListTar() {
  const std::string_view bytes = file_.bytes();
  const auto bad = [&](std::string_view what, size_t at) {
    Error error{ErrorClass::kInput,
                fmt::format("the tar archive is damaged at byte {}: {}", at, what),
                {file_.path(), 0, 0},
                {}};
    return std::unexpected(std::move(error));
  };
  PaxRecords pax;
  for (size_t at = 0; at + kBlock <= bytes.size();) {
    const std::string_view header = bytes.substr(at, kBlock);
    if (header.find_first_not_of('\0') == header.npos) break;
    if (!HasRightSum(header)) return bad("the sum of a header is wrong", at);
    std::optional<int64_t> size = NumberIn(header.substr(124, 12));
    if (pax.size) size = pax.size;
    const size_t data = at + kBlock;
    if (!size || *size < 0 || std::cmp_greater(*size, bytes.size() - data))
      return bad("a member is cut off", at);
    const auto length = static_cast<size_t>(*size);
    const std::string_view content = bytes.substr(data, length);
    at = data + (length + kBlock - 1) / kBlock * kBlock;
    const char type = header[156];
    if (type == 'x') {
      ReadPax(content, pax);
      continue;
    }
    if (type == 'L') {
      pax.path = TextIn(content);
      continue;
    }
    std::string name(TextIn(header.substr(0, 100)));
    const std::string_view before = TextIn(header.substr(345, 155));
    const bool has_prefix = header.substr(257, 6) == std::string_view("ustar\0", 6);
    if (has_prefix && !before.empty()) name = fmt::format("{}/{}", before, name);
    if (pax.path) name = *std::move(pax.path);
    pax = {};
    const bool is_file = (type == '0' || type == '\0' || type == '7') && !name.ends_with('/');
    if (is_file) {
      const int64_t seconds = NumberIn(header.substr(136, 12)).value_or(0);
      constexpr int64_t kMaxSeconds = int64_t{1} << 33, kSecond = 1'000'000'000;
      const int64_t modified = std::clamp<int64_t>(seconds, 0, kMaxSeconds) * kSecond;
      HLOSCOPE_TRY(Add(std::move(name), {{}, *size, modified, data}));
    } else if (type != '5' && type != 'g' && type != 'K' && type != '0' && type != '\0' &&
               warnings_.size() < kMaxWarnings) {
      warnings_.push_back(fmt::format(
          "{}: left out, {}", name,
          type == '1' || type == '2' ? "a link is not followed" : "not a regular file"));
    }
  }
  return {};
}

const Archive::Member* Archive::Find(std::string_view name) const {
  const auto at = std::ranges::lower_bound(members_, name, {}, &Member::name);
  return at != members_.end() && at->name == name ? &*at : nullptr;
}

Result<FileView> Archive::Read(const Member& member, std::string path) const {
  std::string bytes;
  if (zip_) {
    HLOSCOPE_ASSIGN_OR_RETURN(bytes, zip_->Read(zip_->members()[member.at]));
  } else {
    bytes = file_.bytes().substr(member.at, static_cast<size_t>(member.bytes));
  }
  if (IsGzip(bytes)) {
    HLOSCOPE_ASSIGN_OR_RETURN(const ByteBuffer unpacked, Gunzip(bytes, limits_));
    bytes = unpacked.bytes();
  }
  return FileView::FromBytes(std::move(path), std::move(bytes));
}

}  // namespace hloscope
