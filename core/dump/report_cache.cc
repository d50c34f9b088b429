// One file for each report: a header with the fingerprint and a checksum, then the report.
#include "core/dump/report_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "core/base/file.h"
#include "core/base/unique_fd.h"

namespace hloscope::dump {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMagic = 0x31454843'4c4f4c48;  // "HLOLCHE1"
constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;

struct Header {
  uint64_t magic = kMagic;
  std::array<uint64_t, 2> fingerprint = {};
  uint64_t bytes = 0, checksum = 0;
};

uint64_t Mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * kOdd;
  return hash ^ (hash >> 29);
}

// Eight bytes at a time, the rest padded with zeros.
uint64_t HashOf(std::string_view bytes, uint64_t seed) {
  uint64_t hash = Mix(seed, bytes.size());
  while (bytes.size() >= sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    hash = Mix(hash, word);
    bytes.remove_prefix(sizeof word);
  }
  uint64_t word = 0;
  std::memcpy(&word, bytes.data(), bytes.size());
  return Mix(hash, word);
}

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
  // Times of whole seconds come from file systems that keep no others.
  constexpr int64_t kSecond = 1'000'000'000, kFine = 50'000'000, kCoarse = 2 * kSecond;
  const int64_t now = std::chrono::duration_cast<std::chrono::nanoseconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
  Fingerprint print;
  for (const ListedFile& file : listing.files) {
    for (size_t k = 0; k < print.words.size(); ++k) {
      uint64_t hash = HashOf(file.path, k + 1);
      hash = Mix(hash, static_cast<uint64_t>(file.bytes));
      hash = Mix(hash, static_cast<uint64_t>(file.changed_ns));
      print.words[k] += Mix(hash, file.inode);  // a sum: order does not matter
    }
    int64_t grain = file.changed_ns % kSecond == 0 ? kCoarse : kFine;
    print.settled &= file.changed_ns < now - grain;
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

std::optional<std::string> ReportCache::Load(std::string_view name,
                                             const Fingerprint& fingerprint) const {
  UniqueFd fd(open(PathOf(name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status;
  Header header;
  if (!fd.valid() || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  if (!ReadFully(fd.get(), reinterpret_cast<char*>(&header), sizeof header)) return std::nullopt;
  bool fits = header.magic == kMagic && header.fingerprint == fingerprint.words &&
              header.bytes + sizeof header == static_cast<uint64_t>(status.st_size) &&
              header.bytes <= static_cast<uint64_t>(max_bytes_);
  if (!fits) return std::nullopt;
  std::string report(header.bytes, '\0');
  if (!ReadFully(fd.get(), report.data(), report.size())) return std::nullopt;
  if (HashOf(report, 7) != header.checksum) return std::nullopt;
  return report;
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
  header.checksum = HashOf(report, 7);
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
