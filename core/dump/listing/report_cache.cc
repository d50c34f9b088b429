// What a folder looked like.
#include "core/dump/listing/report_cache.h"

#include "core/base/quick_hash.h"
#include "core/dump/listing/head_table.h"

namespace hloscope::dump {

Fingerprint FingerprintOf(const Listing& listing) {
  const int64_t now = NowNs();
  Fingerprint print;
  for (const ListedFile& file : listing.files) {
    const FileKey key = KeyOf(file);
    for (size_t k = 0; k < key.size(); ++k) print.words[k] += key[k];  // order does not matter
    print.settled &= IsSettled(file, now);
  }
  for (const std::string& warning : listing.warnings) print.words[0] += QuickHash(warning, 3);
  print.words[1] += listing.files.size();
  return print;
}

std::optional<ReportCache> ReportCache::OfUser() {
  std::string folder = DiskCache::FolderOfUser("reports");
  if (folder.empty()) return std::nullopt;
  return ReportCache(std::move(folder));
}

}  // namespace hloscope::dump
