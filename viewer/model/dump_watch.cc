// A thread that waits for inotify, and lists again once it is quiet.
#include "viewer/model/dump_watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <set>
#include <unordered_map>

#include "core/graph/count_text.h"

namespace hloscope::viewer {
namespace {

using Clock = std::chrono::steady_clock;

// A program that writes its dump makes hundreds of changes: they are looked at once it rests, or
// once it has written that long.
constexpr std::chrono::milliseconds kQuiet{300}, kMaxWait{2000};
constexpr uint32_t kEvents = IN_CLOSE_WRITE | IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_FROM |
                             IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// Takes away what there is to read.
void Drain(int fd) {
  std::array<char, 16384> bytes;
  while (read(fd, bytes.data(), bytes.size()) > 0) continue;
}

// Waits for one of the two; true: the folder may have changed. Negative: without end.
bool WaitFor(int folder, int poke, std::chrono::milliseconds most) {
  std::array<pollfd, 2> both = {pollfd{folder, POLLIN, 0}, pollfd{poke, POLLIN, 0}};
  return poll(both.data(), both.size(), static_cast<int>(most.count())) > 0;
}

bool IsFolder(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

void AddFolders(int notify, const std::string& path, const dump::Listing& listing) {
  std::set<std::string> folders;
  if (IsFolder(path)) {
    folders.insert(path);
    for (const dump::ListedFile& file : listing.files) {
      const size_t slash = file.path.rfind('/');
      if (slash != std::string::npos) folders.insert(path + "/" + file.path.substr(0, slash));
    }
  } else {
    // The file may be replaced by another of its name.
    const std::string folder = std::filesystem::path(path).parent_path().string();
    folders.insert(folder.empty() ? "." : folder);
  }
  for (const std::string& folder : folders) {
    // Where the system's number of watches is used up the rest is seen when the window gets the
    // keys.
    if (inotify_add_watch(notify, folder.c_str(), kEvents) < 0) break;
  }
}

}  // namespace

std::string ToString(const DumpNews& news) {
  std::string text;
  auto add = [&](int64_t count, const char* what) {
    if (count == 0) return;
    if (!text.empty()) text += ", ";
    text += graph::CountedText(count, "file") + " " + what;
  };
  add(news.added, "added");
  add(news.changed, "changed");
  add(news.removed, "removed");
  return "the dump changed: " + text + ", for example " + news.example;
}

DumpNews Compare(const dump::Listing& before, const dump::Listing& now) {
  std::unordered_map<std::string_view, const dump::ListedFile*> known;
  for (const dump::ListedFile& file : before.files) known.emplace(file.path, &file);
  DumpNews news;
  std::string added, changed;
  auto count = [](int64_t& number, std::string& first, const std::string& path) {
    ++number;
    if (first.empty() || path < first) first = path;
  };
  for (const dump::ListedFile& file : now.files) {
    auto found = known.find(file.path);
    if (found == known.end()) {
      count(news.added, added, file.path);
      continue;
    }
    const dump::ListedFile& was = *found->second;
    if (was.bytes != file.bytes || was.changed_ns != file.changed_ns || was.inode != file.inode)
      count(news.changed, changed, file.path);
    known.erase(found);
  }
  std::string removed;
  for (const auto& [path, file] : known) count(news.removed, removed, file->path);
  news.example = !added.empty() ? added : !changed.empty() ? changed : removed;
  return news;
}

Result<dump::Listing> ListPath(const std::string& path, const Limits& limits,
                               const std::stop_token& stop) {
  if (IsFolder(path)) return dump::ListFolder(path, limits, stop);
  struct stat status{};
  dump::Listing listing;
  if (stat(path.c_str(), &status) != 0) return listing;
  const timespec& later = std::max(status.st_mtim, status.st_ctim, [](auto& a, auto& b) {
    return std::pair(a.tv_sec, a.tv_nsec) < std::pair(b.tv_sec, b.tv_nsec);
  });
  listing.files.push_back({.path = std::filesystem::path(path).filename().string(),
                           .bytes = status.st_size,
                           .changed_ns = later.tv_sec * 1'000'000'000 + later.tv_nsec,
                           .inode = status.st_ino});
  return listing;
}

struct DumpWatch::Watched {
  std::string path;
  dump::Listing was;
  Limits limits;
  int poke = -1;
};

void DumpWatch::Follow(const std::string& path, dump::Listing was, const Limits& limits) {
  Forget();
  poke_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (poke_ < 0) return;
  Watched watched{.path = path, .was = std::move(was), .limits = limits, .poke = poke_};
  thread_ = std::jthread(
      [this, watched = std::move(watched)](const std::stop_token& stop) { Run(stop, watched); });
}

void DumpWatch::Forget() {
  thread_.request_stop();
  Look();
  if (thread_.joinable()) thread_.join();
  if (poke_ >= 0) close(poke_);
  poke_ = -1;
  news_.reset();
}

void DumpWatch::Look() {
  const uint64_t one = 1;
  // A full counter wakes it as well.
  if (poke_ >= 0 && write(poke_, &one, sizeof one) < 0) return;
}

std::optional<DumpNews> DumpWatch::Take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, std::nullopt);
}

void DumpWatch::Run(const std::stop_token& stop, const Watched& watched) {
  const Descriptor notify(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (notify.get() >= 0) AddFolders(notify.get(), watched.path, watched.was);
  DumpNews told;
  // Once at the start: files may have come between the listing and the watches.
  for (bool wait = false;; wait = true) {
    if (wait) WaitFor(notify.get(), watched.poke, std::chrono::milliseconds(-1));
    const Clock::time_point begin = Clock::now();
    do {
      Drain(watched.poke);
      if (notify.get() >= 0) Drain(notify.get());
      if (stop.stop_requested()) return;
    } while (WaitFor(notify.get(), watched.poke, kQuiet) && Clock::now() - begin < kMaxWait);
    const Result<dump::Listing> now = ListPath(watched.path, watched.limits, stop);
    if (!now) continue;
    if (notify.get() >= 0) AddFolders(notify.get(), watched.path, *now);
    DumpNews news = Compare(watched.was, *now);
    if (stop.stop_requested()) return;
    if (news == told) continue;
    told = news;
    {
      const std::lock_guard lock(mutex_);
      news_ = std::move(news);
    }
    if (wake_) wake_();
  }
}

}  // namespace hloscope::viewer
