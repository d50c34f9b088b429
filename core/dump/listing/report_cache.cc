// One file for each report: a header with the fingerprint and a checksum, then the report.
#include "core/dump/listing/report_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "core/base/file.h"
#include "core/base/unique_fd.h"
#include "core/dump/listing/head_table.h"
#include "core/dump/listing/quick_hash.h"

namespace hloscope::dump {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMagic = 0x32454843'4c4f4c48;  // "HLOLCHE2"
struct Header {
  uint64_t magic = kMagic;
  std::array<uint64_t, 2> fingerprint = {};
  uint64_t bytes = 0, checksum = 0;
};

constexpr size_t kPiece = 256 << 10;  // of a report, read at a time

// Of pieces of kPiece bytes, in four chains, which a processor follows at once.
class Checksum {
 public:
  void Add(std::string_view piece) {
    std::array<uint64_t, 4> words;
    while (piece.size() >= sizeof words) {
      std::memcpy(words.data(), piece.data(), sizeof words);
      for (size_t k = 0; k < words.size(); ++k) chains_[k] = Mix(chains_[k], words[k]);
      piece.remove_prefix(sizeof words);
    }
    chains_[0] = Mix(chains_[0], HashOf(piece, 7));
  }
  uint64_t value() const {
    uint64_t hash = 0;
    for (uint64_t chain : chains_) hash = Mix(hash, chain);
    return hash;
  }

 private:
  std::array<uint64_t, 4> chains_ = {1, 2, 3, 4};
};

// Reads all of `size` bytes; false where the file is shorter or cannot be read.
bool ReadFully(int fd, char* to, size_t size) {
  while (size > 0) {
    ssize_t got = read(fd, to, size);
    if (got <= 0) return false;
    to += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

// Reads `size` bytes in pieces; false where there are fewer.
bool ForEachPiece(int fd, uint64_t size, const std::function<void(std::string_view)>& take) {
  std::vector<char> piece(std::min<uint64_t>(size, kPiece));
  while (size > 0) {
    size_t count = std::min<uint64_t>(size, piece.size());
    if (!ReadFully(fd, piece.data(), count)) return false;
    take({piece.data(), count});
    size -= count;
  }
  return true;
}

// A cache that is lost with the power costs nothing but time.
class CallsWithoutSync : public FileCalls {
 public:
  int Sync(int) const override { return 0; }
};

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && value[0] == '/' ? value : "";
}

}  // namespace

Fingerprint FingerprintOf(const Listing& listing) {
  const int64_t now = NowNs();
  Fingerprint print;
  for (const ListedFile& file : listing.files) {
    const FileKey key = KeyOf(file);
    for (size_t k = 0; k < key.size(); ++k) print.words[k] += key[k];  // order does not matter
    print.settled &= IsSettled(file, now);
  }
  for (const std::string& warning : listing.warnings) print.words[0] += HashOf(warning, 3);
  print.words[1] += listing.files.size();
  return print;
}

ReportCache::ReportCache(std::string folder, int64_t max_bytes)
    : folder_(std::move(folder)), max_bytes_(max_bytes) {}

std::optional<ReportCache> ReportCache::OfUser() {
  std::string folder = FromEnvironment("XDG_CACHE_HOME");
  if (folder.empty()) {
    folder = FromEnvironment("HOME");
    if (folder.empty()) return std::nullopt;
    folder += "/.cache";
  }
  return ReportCache(folder + "/hloscope/reports");
}

std::string ReportCache::PathOf(std::string_view name) const {
  return fmt::format("{}/{:016x}{:016x}", folder_, HashOf(name, 5), HashOf(name, 6));
}

bool ReportCache::Copy(std::string_view name, const Fingerprint& fingerprint,
                       const std::function<void(std::string_view)>& take) const {
  UniqueFd fd(open(PathOf(name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status;
  Header header;
  if (!fd.valid() || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  if (!ReadFully(fd.get(), reinterpret_cast<char*>(&header), sizeof header)) return false;
  bool fits = header.magic == kMagic && header.fingerprint == fingerprint.words &&
              header.bytes + sizeof header == static_cast<uint64_t>(status.st_size) &&
              header.bytes <= static_cast<uint64_t>(max_bytes_);
  if (!fits) return false;
  Checksum checksum;
  if (!ForEachPiece(fd.get(), header.bytes, [&](std::string_view bytes) { checksum.Add(bytes); }))
    return false;
  if (checksum.value() != header.checksum) return false;
  // Files of the cache are replaced, never written to: the second reading gives the same bytes.
  return lseek(fd.get(), sizeof header, SEEK_SET) >= 0 &&
         ForEachPiece(fd.get(), header.bytes, take);
}

std::optional<std::string> ReportCache::Load(std::string_view name,
                                             const Fingerprint& fingerprint) const {
  std::string report;
  bool found = Copy(name, fingerprint, [&](std::string_view bytes) { report += bytes; });
  return found ? std::optional(std::move(report)) : std::nullopt;
}

void ReportCache::Store(std::string_view name, const Fingerprint& fingerprint,
                        std::string_view report) const {
  auto bytes = static_cast<int64_t>(report.size() + sizeof(Header));
  if (!fingerprint.settled || bytes > max_bytes_ / 2) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) return;
  MakeRoom(bytes);
  Header header;
  header.fingerprint = fingerprint.words;
  header.bytes = report.size();
  Checksum checksum;
  for (size_t at = 0; at < report.size(); at += kPiece) checksum.Add(report.substr(at, kPiece));
  header.checksum = checksum.value();
  std::string whole(sizeof header, '\0');
  std::memcpy(whole.data(), &header, sizeof header);
  whole += report;
  // The status says what failed; a cache that is not written is not needed either.
  [[maybe_unused]] Status written = WriteFileAtomically(PathOf(name), whole, CallsWithoutSync());
}

void ReportCache::MakeRoom(int64_t bytes) const {
  struct Old {
    fs::file_time_type time;
    int64_t bytes;
    fs::path path;
  };
  std::vector<Old> files;
  int64_t total = bytes;
  std::error_code error;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    if (!at->is_regular_file(gone)) continue;
    auto size = static_cast<int64_t>(at->file_size(gone));
    if (gone) continue;
    total += size;
    files.push_back({at->last_write_time(gone), size, at->path()});
  }
  std::ranges::sort(files, {}, &Old::time);
  for (const Old& old : files) {
    if (total <= max_bytes_) return;
    fs::remove(old.path, error);
    total -= old.bytes;
  }
}

}  // namespace hloscope::dump
