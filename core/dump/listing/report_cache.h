// Reports about dumps kept in the user's cache, so that asking again costs a listing of the folder.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

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
  // Keeps at most `max_bytes` below `folder`, which is made when first needed.
  explicit ReportCache(std::string folder, int64_t max_bytes = int64_t{256} << 20);
  // That of the user: $XDG_CACHE_HOME/hloscope, else ~/.cache/hloscope; nullopt without either.
  static std::optional<ReportCache> OfUser();

  // The report stored under `name` for exactly that folder; nullopt where there is none, or the
  // file is broken.
  std::optional<std::string> Load(std::string_view name, const Fingerprint& fingerprint) const;
  // Gives it to `take` in pieces, only if all of it is sound; false where there is none.
  bool Copy(std::string_view name, const Fingerprint& fingerprint,
            const std::function<void(std::string_view)>& take) const;
  // Stores it in place of an older one of that name, and removes the oldest others where there is
  // no room. What cannot be written is left out: the cache only saves time.
  void Store(std::string_view name, const Fingerprint& fingerprint, std::string_view report) const;

 private:
  std::string PathOf(std::string_view name) const;
  void MakeRoom(int64_t bytes) const;

  std::string folder_;
  int64_t max_bytes_;
};

}  // namespace hloscope::dump
