// Walking a folder with a worklist, one open folder at a time.
#include "core/dump/listing.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>

#include "core/base/jobs.h"

namespace hloscope::dump {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

std::string Reason(int error) { return std::generic_category().message(error); }
int64_t Nanoseconds(const timespec& t) { return t.tv_sec * 1'000'000'000 + t.tv_nsec; }

class Walk {
 public:
  Walk(std::string root, const Limits& limits, std::stop_token stop)
      : root_(std::move(root)), limits_(limits), stop_(std::move(stop)) {}

  Result<Listing> Run() {
    folders_.emplace_back();
    while (!folders_.empty()) {
      std::string folder = std::move(folders_.back());
      folders_.pop_back();
      HLOSCOPE_TRY(Visit(folder));
    }
    std::ranges::sort(listing_.warnings);
    return std::move(listing_);
  }

 private:
  Status Visit(const std::string& folder) {
    std::string full = folder.empty() ? root_ : root_ + "/" + folder;
    Folder open(opendir(full.c_str()));
    if (open == nullptr) {
      int error = errno;
      if (folder.empty()) {
        if (error == ENOENT || error == ENOTDIR) {
          return InputError(full + ": not a directory");
        }
        return EnvironmentError(fmt::format("{}: {}", full, Reason(error)));
      }
      listing_.warnings.push_back(fmt::format("{}: folder skipped, {}", folder, Reason(error)));
      return {};
    }
    std::vector<std::string> names;
    while (true) {
      errno = 0;
      const dirent* entry = readdir(open.get());
      if (entry == nullptr) break;
      std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      HLOSCOPE_TRY(CountEntry());
      names.emplace_back(name);
    }
    if (errno != 0)
      listing_.warnings.push_back(fmt::format("{}: listing stopped, {}", full, Reason(errno)));
    return Add(dirfd(open.get()), folder, names);
  }

  Status CountEntry() {
    if (++entries_ > limits_.directory_entries) {
      return InputError(fmt::format("{}: more than {} files", root_, limits_.directory_entries),
                        "raise --limit directory-entries, or name a sub-folder");
    }
    if ((entries_ & 1023) == 0 && stop_.stop_requested())
      return std::unexpected(Error{ErrorClass::kDied, "stopped while listing", {root_, 0, 0}, {}});
    return {};
  }

  // Looks at the entries on several threads where there are many.
  Status Add(int fd, const std::string& folder, const std::vector<std::string>& names) {
    struct Entry {
      struct stat status;
      int error = 0;
    };
    std::vector<Entry> entries(names.size());
    constexpr int64_t kAtATime = 1024;
    auto count = static_cast<int64_t>(names.size());
    int64_t blocks = (count + kAtATime - 1) / kAtATime;
    int threads = static_cast<int>(std::min<int64_t>(blocks, AvailableCpus()));
    HLOSCOPE_TRY(ParallelFor(blocks, std::max(threads, 1), [&](int64_t block) {
      for (int64_t k = block * kAtATime; k < std::min(count, (block + 1) * kAtATime); ++k) {
        auto at = static_cast<size_t>(k);
        Entry& entry = entries[at];
        if (fstatat(fd, names[at].c_str(), &entry.status, AT_SYMLINK_NOFOLLOW) != 0)
          entry.error = errno;
      }
    }));
    for (size_t k = 0; k < names.size(); ++k) {
      std::string path = folder.empty() ? names[k] : folder + "/" + names[k];
      if (entries[k].error != 0) {
        listing_.warnings.push_back(fmt::format("{}: skipped, {}", path, Reason(entries[k].error)));
      } else {
        Take(std::move(path), entries[k].status);
      }
    }
    return {};
  }

  void Take(std::string path, const struct stat& status) {
    if (S_ISDIR(status.st_mode)) {
      folders_.push_back(std::move(path));
    } else if (S_ISLNK(status.st_mode)) {
      listing_.warnings.push_back(path + ": skipped, a symbolic link is not followed");
    } else if (!S_ISREG(status.st_mode)) {
      listing_.warnings.push_back(path + ": skipped, not a regular file");
    } else {
      listing_.files.push_back({std::move(path), static_cast<int64_t>(status.st_size),
                                std::max(Nanoseconds(status.st_mtim), Nanoseconds(status.st_ctim)),
                                status.st_ino});
    }
  }

  std::string root_;
  const Limits& limits_;
  std::stop_token stop_;
  std::vector<std::string> folders_;
  int64_t entries_ = 0;
  Listing listing_;
};

}  // namespace

Result<Listing> ListFolder(const std::string& path, const Limits& limits,
                           const std::stop_token& stop) {
  return Walk(path, limits, stop).Run();
}

}  // namespace hloscope::dump
