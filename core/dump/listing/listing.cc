// Walking a folder with a worklist, one open folder at a time.
#include "core/dump/listing/listing.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <map>
#include <system_error>

#include "core/base/counted.h"
#include "core/base/jobs.h"
#include "core/base/kernel_file_system.h"
#include "core/base/unique_fd.h"
#include "core/dump/listing/file_role.h"
#include "core/dump/listing/folder_table.h"
#include "core/dump/listing/head_table.h"

namespace hloscope::dump {
namespace {

constexpr size_t kListedAtOnce = 1 << 20;

std::string Reason(int error) { return std::generic_category().message(error); }
int64_t Nanoseconds(const timespec& t) { return t.tv_sec * 1'000'000'000 + t.tv_nsec; }

int64_t ChangedNs(const struct stat& status) {
  return std::max(Nanoseconds(status.st_mtim), Nanoseconds(status.st_ctim));
}

// A name that files of a dump may have, and modules, arrays and logs next to it.
bool MayBeOfDump(std::string_view name) {
  constexpr std::string_view kEndings[] = {".txt",    ".hlo",   ".pb",       ".pbtxt", ".mlir",
                                           ".hlob",   ".npy",   ".npz",      ".log",   ".jaxpr",
                                           ".export", ".txtpb", ".textproto"};
  const std::string_view bare = BareFileName(name);
  return std::ranges::any_of(kEndings, [&](std::string_view e) { return bare.ends_with(e); }) ||
         MatchRole(bare).has_value();
}

class Walk {
 public:
  Walk(std::string root, const Limits& limits, std::stop_token stop)
      : root_(std::move(root)), limits_(limits), stop_(std::move(stop)) {}

  void Know(const FolderTable* known, FolderTable* next) {
    known_ = known;
    next_ = next;
  }

  Result<Listing> Run() {
    root_fd_ = UniqueFd(open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root_fd_.valid()) {
      int error = errno;
      if (error == ENOENT || error == ENOTDIR) return InputError(root_ + ": not a directory");
      return EnvironmentError(fmt::format("{}: {}", root_, Reason(error)));
    }
    if (const std::string_view kind = KernelFileSystemOf(root_fd_.get()); !kind.empty()) {
      return InputError(
          fmt::format("{}: is in the kernel's file system {}, where no dump is", root_, kind),
          "name the folder of a dump");
    }
    folders_.emplace_back();
    // Nearest first: a dump that is meant is at the top, not in the depths of what is around it.
    for (; !folders_.empty() && others_ <= most_others_; ++visited_) {
      const std::string folder = std::move(folders_.front());
      folders_.pop_front();
      HLOSCOPE_TRY(Visit(folder));
    }
    HLOSCOPE_TRY(TellOfRest());
    TellSkipped();
    std::ranges::sort(listing_.warnings);
    return std::move(listing_);
  }

  bool read_any() const { return read_any_; }

 private:
  // An entry of a folder; its name stands in names_.
  struct Entry {
    uint64_t inode = 0;
    size_t name = 0;
    unsigned char type = DT_UNKNOWN;
    int error = 0;
    int64_t bytes = 0, changed_ns = 0, modified_ns = 0;
    mode_t mode = 0;
  };

  // What was not looked at.
  Status TellOfRest() {
    if (folders_.empty() && left_ == 0) return {};
    const int64_t looked_at = count_ - left_;
    std::string looked =
        fmt::format("looked at {} in {}; {} not named like files of a dump; left out:",
                    Counted(looked_at, "entry", "entries"), Counted(visited_, "folder"),
                    Counted(others_, "is", "are"));
    if (left_ > 0) looked += " " + Counted(left_, "more entry", "more entries");
    if (!folders_.empty()) {
      looked +=
          fmt::format("{}{}", left_ > 0 ? " and " : " ", Counted(folders_.size(), "more folder"));
    }
    if (!has_dump_) {
      return InputError(fmt::format("{}: not a dump: {}", root_, looked),
                        "name the folder of the dump, or raise --limit directory-entries=N");
    }
    listing_.left_out = looked;
    return {};
  }

  // Of each reason the first few, and how many more there are.
  void TellSkipped() {
    constexpr size_t kNamed = 20;
    for (auto& [reason, paths] : skipped_) {
      const size_t named = std::min(paths.size(), kNamed);
      std::ranges::partial_sort(paths, paths.begin() + static_cast<ptrdiff_t>(named));
      for (size_t k = 0; k < named; ++k) {
        listing_.warnings.push_back(fmt::format("{}: {}", paths[k], reason));
      }
      if (paths.size() == named) continue;
      listing_.warnings.push_back(fmt::format(
          "{}: {}", Counted(paths.size() - named, "more entry", "more entries"), reason));
    }
  }
  void Skip(std::string path, std::string reason) {
    skipped_[std::move(reason)].push_back(std::move(path));
  }

  Status Visit(const std::string& folder) {
    names_.clear();
    entries_.clear();
    prefix_ = folder.empty() ? "" : folder + "/";
    HLOSCOPE_ASSIGN_OR_RETURN(bool known, TakeKnown(folder));
    UniqueFd own;
    if (!known) {
      read_any_ = true;
      if (!folder.empty()) {
        own = UniqueFd(openat(root_fd_.get(), folder.c_str(),
                              O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
        if (!own.valid()) {
          Skip(folder, "folder skipped, " + Reason(errno));
          return {};
        }
        if (const std::string_view kind = KernelFileSystemOf(own.get()); !kind.empty()) {
          Skip(folder, fmt::format("folder skipped, it is the kernel's file system {}", kind));
          return {};
        }
      }
      HLOSCOPE_TRY(Read(own.valid() ? own.get() : root_fd_.get(), folder));
    }
    HLOSCOPE_TRY(Look(own.valid() ? own.get() : root_fd_.get()));
    if (folder.empty()) listing_.files.reserve(entries_.size());
    const std::string before = own.valid() ? prefix_ : "";
    for (const Entry& entry : entries_) Take(before + (names_.data() + entry.name), entry);
    return {};
  }

  // The entries of a folder that has not changed since they were read. Their names are as seen from
  // the root.
  Result<bool> TakeKnown(const std::string& folder) {
    const FolderTable::Folder* known = known_ == nullptr ? nullptr : known_->Find(folder);
    struct stat now;
    const char* path = folder.empty() ? "." : folder.c_str();
    bool same = known != nullptr && fstatat(root_fd_.get(), path, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
                S_ISDIR(now.st_mode) && now.st_ino == known->inode &&
                ChangedNs(now) == known->changed_ns;
    if (!same) return false;
    names_.reserve(known->entries.size() + 1);
    for (std::string_view rest = known->entries; !rest.empty();) {
      const auto type = static_cast<unsigned char>(rest.front());
      std::string_view name = rest.substr(1, rest.find('\0', 1) - 1);
      rest.remove_prefix(name.size() + 2);
      HLOSCOPE_ASSIGN_OR_RETURN(const bool is_taken, CountEntry(name, type));
      if (!is_taken) continue;
      entries_.push_back({0, names_.size(), type});
      names_.append(prefix_).append(name).push_back('\0');
    }
    if (next_ != nullptr) next_->Add(*known);
    return true;
  }

  Status Read(int fd, const std::string& folder) {
    // Before its entries: what changes from here on shows next time.
    struct stat before;
    bool keep =
        next_ != nullptr && fstat(fd, &before) == 0 && IsSettledTime(ChangedNs(before), NowNs());
    HLOSCOPE_ASSIGN_OR_RETURN(bool whole, ReadEntries(fd, folder));
    // Their order on the disk is about that of their numbers, and so in the memory of the system.
    std::ranges::sort(entries_, {}, &Entry::inode);
    if (!keep || !whole) return {};
    std::string packed;
    packed.reserve(names_.size() + entries_.size());
    for (const Entry& entry : entries_) {
      packed += static_cast<char>(entry.type);
      packed += names_.data() + entry.name;
      packed += '\0';
    }
    next_->Add({folder, before.st_ino, ChangedNs(before), packed});
    return {};
  }

  // False where not all could be read, or were taken.
  Result<bool> ReadEntries(int fd, const std::string& folder) {
    buffer_.resize(kListedAtOnce);
    bool whole = true;
    ssize_t got = 0;
    while ((got = getdents64(fd, buffer_.data(), buffer_.size())) > 0) {
      for (size_t at = 0; at < static_cast<size_t>(got);) {
        const auto* entry = reinterpret_cast<const dirent64*>(buffer_.data() + at);
        at += entry->d_reclen;
        std::string_view name = entry->d_name;
        if (name == "." || name == "..") continue;
        HLOSCOPE_ASSIGN_OR_RETURN(const bool is_taken, CountEntry(name, entry->d_type));
        whole = whole && is_taken;
        if (!is_taken) continue;
        entries_.push_back({entry->d_ino, names_.size(), entry->d_type});
        names_.append(name).push_back('\0');
      }
    }
    if (got == 0) return whole;
    listing_.warnings.push_back(
        fmt::format("{}: listing stopped, {}", folder.empty() ? root_ : folder, Reason(errno)));
    return false;
  }

  // False: it is left out.
  Result<bool> CountEntry(std::string_view name, unsigned char type) {
    if (++count_ > limits_.directory_entries) {
      return InputError(
          fmt::format("{}: more than {}", root_, Counted(limits_.directory_entries, "file")),
          "raise it with --limit directory-entries=N, or name a sub-folder");
    }
    if ((count_ & 1023) == 0 && stop_.stop_requested())
      return std::unexpected(
          Error{ErrorClass::kCancelled, "stopped while listing", {root_, 0, 0}, {}});
    const bool is_named = ParseDumpFileName(name).has_value();
    has_dump_ |= is_named;
    if (is_named || (type != DT_DIR && MayBeOfDump(name))) return true;
    if (others_ <= most_others_) return ++others_ > 0;
    ++left_;
    return false;
  }

  // Looks at the entries on several threads where there are many. Folders and links are known
  // without.
  Status Look(int fd) {
    constexpr int64_t kAtATime = 1024;
    auto count = static_cast<int64_t>(entries_.size());
    int64_t blocks = (count + kAtATime - 1) / kAtATime;
    auto look = [&](int64_t block) {
      for (int64_t k = block * kAtATime; k < std::min(count, (block + 1) * kAtATime); ++k)
        LookAt(fd, entries_[static_cast<size_t>(k)]);
    };
    if (blocks == 1) {
      look(0);
      return {};
    }
    return ParallelFor(blocks, static_cast<int>(std::min<int64_t>(blocks, AvailableCpus())), look);
  }

  void LookAt(int fd, Entry& entry) const {
    if (entry.type == DT_DIR) entry.mode = S_IFDIR;
    if (entry.type == DT_LNK) entry.mode = S_IFLNK;
    if (entry.mode != 0) return;
    struct stat status;
    if (fstatat(fd, names_.data() + entry.name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
      entry.error = errno;
      return;
    }
    entry.mode = status.st_mode;
    entry.inode = status.st_ino;
    entry.bytes = status.st_size;
    entry.changed_ns = ChangedNs(status);
    entry.modified_ns = Nanoseconds(status.st_mtim);
  }

  void Take(std::string path, const Entry& entry) {
    if (entry.error != 0) {
      Skip(std::move(path), "skipped, " + Reason(entry.error));
    } else if (S_ISDIR(entry.mode)) {
      folders_.push_back(std::move(path));
    } else if (S_ISLNK(entry.mode)) {
      Skip(std::move(path), "skipped, a symbolic link is not followed");
    } else if (!S_ISREG(entry.mode)) {
      Skip(std::move(path), "skipped, not a regular file");
    } else {
      listing_.files.push_back(
          {std::move(path), entry.bytes, entry.changed_ns, entry.inode, entry.modified_ns});
    }
  }

  std::string root_;
  const Limits& limits_;
  std::stop_token stop_;
  std::deque<std::string> folders_;
  UniqueFd root_fd_;
  const FolderTable* known_ = nullptr;
  FolderTable* next_ = nullptr;
  bool read_any_ = false;
  std::string prefix_, buffer_, names_;  // of the folder that is read
  std::vector<Entry> entries_;
  const int64_t most_others_ = std::max(limits_.directory_entries / 50, kMinOthers);
  // Entries; of them not named like those of a dump, and left out; folders.
  int64_t count_ = 0, others_ = 0, left_ = 0, visited_ = 0;
  bool has_dump_ = false;
  std::map<std::string, std::vector<std::string>> skipped_;  // paths by reason
  Listing listing_;
};

}  // namespace

Result<Listing> ListFolder(const std::string& path, const Limits& limits,
                           const std::stop_token& stop) {
  return Walk(path, limits, stop).Run();
}

Result<Listing> ListFolder(const std::string& path, const Limits& limits, const FolderTable* known,
                           FolderTable& next, bool& read_any) {
  Walk walk(path, limits, {});
  walk.Know(known, &next);
  auto listing = walk.Run();
  read_any = walk.read_any();
  return listing;
}

}  // namespace hloscope::dump
