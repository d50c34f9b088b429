// One file for each entry: a header with the stamp and a checksum, then its bytes.
#include "core/base/disk_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <vector>

#include "core/base/file.h"
#include "core/base/quick_hash.h"
#include "core/base/unique_fd.h"

namespace hloscope {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kEntryMagic = 0x33454843'4c4f4c48;  // "HLOLCHE3"
// As long as values in an entry may want to be aligned.
struct EntryHead {
  uint64_t magic = kEntryMagic;
  DiskCache::Words stamp = {};
  uint64_t bytes = 0, checksum = 0;
  uint64_t unused[3] = {};
};
static_assert(sizeof(EntryHead) == 64);

constexpr size_t kPiece = 256 << 10;  // of an entry, read at a time

// Of pieces of kPiece bytes, in four chains, which a processor follows at once.
class Checksum {
 public:
  void Add(std::string_view piece) {
    std::array<uint64_t, 4> words;
    while (piece.size() >= sizeof words) {
      std::memcpy(words.data(), piece.data(), sizeof words);
      for (size_t k = 0; k < words.size(); ++k) chains_[k] = QuickMix(chains_[k], words[k]);
      piece.remove_prefix(sizeof words);
    }
    chains_[0] = QuickMix(chains_[0], QuickHash(piece, 7));
  }
  uint64_t value() const {
    uint64_t hash = 0;
    for (uint64_t chain : chains_) hash = QuickMix(hash, chain);
    return hash;
  }

 private:
  std::array<uint64_t, 4> chains_ = {1, 2, 3, 4};
};

// Reads all of `size` bytes; false where the file is shorter or cannot be read.
bool ReadWhole(int fd, char* to, size_t size) {
  while (size > 0) {
    const ssize_t got = read(fd, to, size);
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
    const size_t count = std::min<uint64_t>(size, piece.size());
    if (!ReadWhole(fd, piece.data(), count)) return false;
    take({piece.data(), count});
    size -= count;
  }
  return true;
}

// Entries are their user's alone, whatever the umask. A cache that is lost with the power costs
// nothing but time.
class EntryCalls : public FileCalls {
 public:
  int Open(const char* path, int flags, mode_t) const override {
    return FileCalls::Open(path, flags, 0600);
  }
  int Sync(int) const override { return 0; }
};

std::string FolderFrom(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && value[0] == '/' ? value : "";
}

// An entry may be code: no stranger may have written it.
bool IsOwn(const struct stat& status) {
  return S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// The entry in that file, read up to its bytes; invalid where it is not whole or another.
UniqueFd Opened(const std::string& path, const DiskCache::Words& stamp, int64_t max_bytes,
                EntryHead& header) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status;
  if (!fd.valid() || fstat(fd.get(), &status) != 0 || !IsOwn(status)) return {};
  if (!ReadWhole(fd.get(), reinterpret_cast<char*>(&header), sizeof header)) return {};
  const bool fits = header.magic == kEntryMagic && header.stamp == stamp &&
                    header.bytes <= static_cast<uint64_t>(max_bytes) &&
                    header.bytes + sizeof header == static_cast<uint64_t>(status.st_size);
  if (!fits) return {};
  return fd;
}

uint64_t ChecksumOf(std::string_view bytes) {
  Checksum checksum;
  for (size_t at = 0; at < bytes.size(); at += kPiece) checksum.Add(bytes.substr(at, kPiece));
  return checksum.value();
}

}  // namespace

DiskCache::DiskCache(std::string folder, int64_t max_bytes)
    : folder_(std::move(folder)), max_bytes_(max_bytes) {}

std::string DiskCache::FolderOfUser(std::string_view part) {
  std::string folder = FolderFrom("XDG_CACHE_HOME");
  if (folder.empty()) {
    folder = FolderFrom("HOME");
    if (folder.empty()) return "";
    folder += "/.cache";
  }
  return fmt::format("{}/hloscope/{}", folder, part);
}

std::string DiskCache::PathOf(std::string_view name) const {
  return fmt::format("{}/{:016x}{:016x}", folder_, QuickHash(name, 5), QuickHash(name, 6));
}

bool DiskCache::Copy(std::string_view name, const Words& stamp,
                     const std::function<void(std::string_view)>& take) const {
  EntryHead header;
  const UniqueFd fd = Opened(PathOf(name), stamp, max_bytes_, header);
  if (!fd.valid()) return false;
  Checksum checksum;
  if (!ForEachPiece(fd.get(), header.bytes, [&](std::string_view bytes) { checksum.Add(bytes); }))
    return false;
  if (checksum.value() != header.checksum) return false;
  futimens(fd.get(), nullptr);
  // Files of the cache are replaced, never written to: the second reading gives the same bytes.
  return lseek(fd.get(), sizeof header, SEEK_SET) >= 0 &&
         ForEachPiece(fd.get(), header.bytes, take);
}

std::optional<std::string> DiskCache::Load(std::string_view name, const Words& stamp) const {
  EntryHead header;
  const UniqueFd fd = Opened(PathOf(name), stamp, max_bytes_, header);
  if (!fd.valid()) return std::nullopt;
  std::string bytes;
  bool is_read = false;
  bytes.resize_and_overwrite(static_cast<size_t>(header.bytes), [&](char* to, size_t size) {
    is_read = ReadWhole(fd.get(), to, size);
    return is_read ? size : 0;
  });
  if (!is_read || ChecksumOf(bytes) != header.checksum) return std::nullopt;
  futimens(fd.get(), nullptr);
  return bytes;
}

std::string DiskCache::WhyRefused(std::string_view name) const {
  const std::string path = PathOf(name);
  struct stat status;
  if (lstat(path.c_str(), &status) != 0) return {};
  return path + (IsOwn(status) ? ": it is damaged, or of another version"
                               : ": it belongs to another user, or others may write it");
}

void DiskCache::Store(std::string_view name, const Words& stamp, std::string_view bytes) const {
  const auto size = static_cast<int64_t>(bytes.size() + sizeof(EntryHead));
  if (folder_.empty() || size > max_bytes_ / 2) return;
  std::error_code error;
  if (fs::create_directories(folder_, error)) {
    fs::permissions(folder_, fs::perms::owner_all, error);
  }
  if (error) return;
  MakeRoom(size);
  const std::string path = PathOf(name);
  // A file that is replaced would keep its mode, a link what it points to.
  struct stat status;
  if (lstat(path.c_str(), &status) == 0 && !IsOwn(status)) unlink(path.c_str());
  EntryHead header;
  header.stamp = stamp;
  header.bytes = bytes.size();
  header.checksum = ChecksumOf(bytes);
  std::string whole;
  whole.reserve(static_cast<size_t>(size));
  whole.append(reinterpret_cast<const char*>(&header), sizeof header);
  whole += bytes;
  // The status says what failed; a cache that is not written is not needed either.
  [[maybe_unused]] const Status written = WriteFileAtomically(path, whole, EntryCalls());
}

// A listing of the folder for each entry would be quadratic in entries: what this process found
// there and added since is known, and others may add a sixteenth before it is looked at again.
void DiskCache::MakeRoom(int64_t bytes) const {
  struct Seen {
    int64_t total = 0, added = 0;
  };
  static std::mutex mutex;
  static std::map<std::string, Seen> folders;
  constexpr int64_t kPart = 16;
  std::lock_guard lock(mutex);
  const auto [at, is_new] = folders.try_emplace(folder_);
  Seen& seen = at->second;
  if (is_new || seen.total + bytes > max_bytes_ || seen.added + bytes > max_bytes_ / kPart) {
    seen = {.total = Evict(max_bytes_ - bytes)};
  }
  seen.total += bytes;
  seen.added += bytes;
}

int64_t DiskCache::Evict(int64_t most) const {
  struct Old {
    fs::file_time_type time;
    int64_t bytes;
    fs::path path;
  };
  std::vector<Old> files;
  int64_t total = 0;
  std::error_code error;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    if (!at->is_regular_file(gone)) continue;
    const auto size = static_cast<int64_t>(at->file_size(gone));
    if (gone) continue;
    total += size;
    files.push_back({at->last_write_time(gone), size, at->path()});
  }
  std::ranges::sort(files, {}, &Old::time);
  for (const Old& old : files) {
    if (total <= most) break;
    fs::remove(old.path, error);
    total -= old.bytes;
  }
  return total;
}

DiskCache::Use DiskCache::Used() const {
  Use use;
  std::error_code error;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    if (!at->is_regular_file(gone)) continue;
    const auto size = static_cast<int64_t>(at->file_size(gone));
    if (gone) continue;
    ++use.files;
    use.bytes += size;
  }
  return use;
}

}  // namespace hloscope
