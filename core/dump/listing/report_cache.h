// Reports about dumps kept in the user's cache, so that asking again costs a listing of the folder.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/disk_cache.h"
#include "core/base/limits.h"
#include "core/dump/listing/listing.h"

namespace hloscope::dump {

// What a folder looked like: it changes whenever a file in it does (name, size, time or inode).
struct Fingerprint {
  std::array<uint64_t, 2> words = {};
  // False where a file changed so lately that another change might leave no trace.
  bool settled = true;
  bool operator==(const Fingerprint& other) const { return words == other.words; }
};
Fingerprint FingerprintOf(const Listing& listing);

class ReportCache {
 public:
  // Keeps at most `max_bytes` below `folder`.
  explicit ReportCache(std::string folder, int64_t max_bytes = int64_t{256} << 20)
      : files_(std::move(folder), max_bytes) {}
  // That of the user; nullopt where there is none.
  static std::optional<ReportCache> OfUser();

  // The report stored under `name` for exactly that folder; nullopt where there is none, or the
  // file is broken.
  std::optional<std::string> Load(std::string_view name, const Fingerprint& fingerprint) const {
    return files_.Load(name, fingerprint.words);
  }
  // Gives it to `take` in pieces, only if all of it is sound; false where there is none.
  bool Copy(std::string_view name, const Fingerprint& fingerprint,
            const std::function<void(std::string_view)>& take) const {
    return files_.Copy(name, fingerprint.words, take);
  }
  // Stores it in place of an older one of that name, unless the folder may still be changing.
  void Store(std::string_view name, const Fingerprint& fingerprint, std::string_view report) const {
    if (fingerprint.settled) files_.Store(name, fingerprint.words, report);
  }

 private:
  DiskCache files_;
};

}  // namespace hloscope::dump
