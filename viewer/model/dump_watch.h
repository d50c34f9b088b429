// DumpWatch: notices that files of the dump in view appear, change or go. It sleeps until the
// system reports a change (inotify), then lists the folder and compares.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "core/base/limits.h"
#include "core/dump/listing/listing.h"

namespace hloscope::viewer {

// How a folder differs from what was read.
struct DumpNews {
  int64_t added = 0, changed = 0, removed = 0;  // files
  std::string example;                          // one of them
  bool any() const { return added + changed + removed > 0; }
  bool operator==(const DumpNews&) const = default;
};
// "the dump changed: 3 files added, 1 changed, for example a.txt".
std::string ToString(const DumpNews& news);

DumpNews Compare(const dump::Listing& before, const dump::Listing& now);

class DumpWatch {
 public:
  // `wake` is called from any thread when there is news.
  explicit DumpWatch(std::function<void()> wake) : wake_(std::move(wake)) {}
  ~DumpWatch() { Forget(); }
  DumpWatch(const DumpWatch&) = delete;
  DumpWatch& operator=(const DumpWatch&) = delete;

  // Follows a folder, or one file, from when it was listed so; forgets the one before.
  void Follow(const std::string& path, dump::Listing was, const Limits& limits);
  void Forget();
  // Looks now, as when the user comes back: remote file systems report no changes.
  void Look();
  // How it differs from what was listed, once for every new difference.
  std::optional<DumpNews> Take();

 private:
  struct Watched;
  void Run(const std::stop_token& stop, const Watched& watched);

  std::function<void()> wake_;
  std::mutex mutex_;
  std::optional<DumpNews> news_;
  int poke_ = -1;  // wakes the thread
  std::jthread thread_;
};

// The listing of a folder, or of one file as a folder of that file alone.
Result<dump::Listing> ListPath(const std::string& path, const Limits& limits,
                               const std::stop_token& stop);

}  // namespace hloscope::viewer
