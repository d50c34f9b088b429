// Variables of launchers, and files of a folder that is the user's own.
#include "core/replay/ranks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <thread>

#include "core/base/unique_fd.h"

namespace hloscope::replay {
namespace {

namespace fs = std::filesystem;

// Variables that launchers set for their processes. The first that has set all three counts:
// torchrun below mpirun or srun has theirs too, which are of torchrun itself; mpirun inside of a
// Slurm job has Slurm's; srun with PMI sets two of MPICH's.
struct LauncherRow {
  const char *name, *rank, *ranks, *local;
};
constexpr LauncherRow kLaunchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"MPICH, Intel MPI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
};

constexpr std::string_view kVariable = "HLOSCOPE_RANK=";
constexpr std::string_view kFailed = "failed";
// What a file of a rank begins with; the number of its bytes and a line's end follow.
constexpr std::string_view kHead = "hloscope rank file ";
constexpr int64_t kMaxRanks = 1 << 16;
constexpr std::chrono::milliseconds kBetweenTries{2}, kBetweenLooks{50}, kPatience{2000};
constexpr std::string_view kOneFolderARun = "give --ranks-folder a new folder for each run";

std::string Reason() { return std::generic_category().message(errno); }

// Whoever may write there may say what ranks compute.
Result<UniqueFd> OpenFolder(const std::string& folder) {
  UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status;
  if (!fd.valid() || fstat(fd.get(), &status) != 0) {
    return EnvironmentError(fmt::format("{}: {}", folder, Reason()),
                            "give --ranks-folder a folder, no link, that all ranks can write to");
  }
  if (status.st_uid != geteuid()) {
    return InputError(fmt::format("{}: the folder is another user's", folder),
                      "give --ranks-folder one that is not there yet: it is made");
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return InputError(fmt::format("{}: others may write to the folder", folder),
                      fmt::format("chmod go-w {}, or give --ranks-folder one that is not there "
                                  "yet: it is made",
                                  folder));
  }
  return fd;
}

// A file that was not there.
Status Write(const std::string& folder, std::string_view name, std::string_view bytes) {
  HLOSCOPE_ASSIGN_OR_RETURN(const UniqueFd in, OpenFolder(folder));
  constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  UniqueFd file(openat(in.get(), std::string(name).c_str(), kNew, 0600));
  if (!file.valid() && errno == EEXIST) {
    return InputError(
        fmt::format("{}: another run was or is here: {} is there already", folder, name),
        std::string(kOneFolderARun));
  }
  const auto failed = [&] {
    return EnvironmentError(fmt::format("{}/{}: {}", folder, name, Reason()),
                            "give --ranks-folder a folder that all ranks can write to");
  };
  if (!file.valid()) return failed();
  const std::string whole = fmt::format("{}{}\n{}", kHead, bytes.size(), bytes);
  std::string_view left = whole;
  while (!left.empty()) {
    const ssize_t count = write(file.get(), left.data(), left.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return failed();
    left.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

// What a rank wrote; nullopt: it has not, or not yet all.
Result<std::optional<std::string>> Read(const std::string& folder, std::string_view name) {
  HLOSCOPE_ASSIGN_OR_RETURN(const UniqueFd in, OpenFolder(folder));
  const auto refused = [&](std::string_view why) {
    return EnvironmentError(fmt::format("{}/{}: {}", folder, name, why),
                            std::string(kOneFolderARun));
  };
  constexpr int kOld = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  const UniqueFd file(openat(in.get(), std::string(name).c_str(), kOld));
  if (!file.valid() && errno == ENOENT) return std::nullopt;
  if (!file.valid()) return refused(Reason());
  struct stat status;
  if (fstat(file.get(), &status) != 0) return refused(Reason());
  if (!S_ISREG(status.st_mode) || status.st_uid != geteuid()) {
    return refused("no rank wrote it: it does not belong to this user");
  }
  std::string text(static_cast<size_t>(status.st_size), '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = read(file.get(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return refused(Reason());
    if (count == 0) break;
    size += static_cast<size_t>(count);
  }
  text.resize(size);
  const size_t line = text.find('\n');
  const size_t same = std::min(text.size(), kHead.size());
  if (text.substr(0, same) != kHead.substr(0, same)) return refused("no rank wrote it");
  if (line == std::string::npos) return std::nullopt;
  size_t bytes = 0;
  const char* const end = text.data() + line;
  const auto number = std::from_chars(text.data() + kHead.size(), end, bytes);
  if (number.ec != std::errc() || number.ptr != end) return refused("no rank wrote it");
  text.erase(0, line + 1);
  if (text.size() > bytes) return refused("no rank wrote it");
  if (text.size() < bytes) return std::nullopt;
  return text;
}

bool IsSet(const char* variable) { return std::getenv(variable) != nullptr; }

// The first that has set all of its variables.
Result<const LauncherRow*> Launcher() {
  std::string partly;
  for (const LauncherRow& row : kLaunchers) {
    std::vector<std::string_view> unset;
    for (const char* variable : {row.rank, row.ranks, row.local}) {
      if (!IsSet(variable)) unset.emplace_back(variable);
    }
    if (unset.empty()) return &row;
    if (unset.size() == 3 || !IsSet(row.rank)) continue;
    partly += fmt::format("{}{} is set, but not {}", partly.empty() ? ": " : "; ", row.rank,
                          fmt::join(unset, " and "));
  }
  return InputError("--ranks-folder: no launcher says which rank this process is" + partly,
                    "start it by mpirun, srun or torchrun");
}

Result<int64_t> NumberOf(const LauncherRow& row, const char* variable) {
  const char* const given = std::getenv(variable);
  const std::string_view text = given == nullptr ? "" : given;
  int64_t number = -1;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end || number < 0 || number > kMaxRanks) {
    return InputError(fmt::format("{} of {} is `{}`: expected a number", variable, row.name, text),
                      fmt::format("start it by the launcher, which sets {}, {} and {}", row.rank,
                                  row.ranks, row.local));
  }
  return number;
}

}  // namespace

Result<RankPlace> TakeRank(const std::string& folder) {
  HLOSCOPE_ASSIGN_OR_RETURN(const LauncherRow* const found, Launcher());
  const LauncherRow& row = *found;
  fs::path own = fs::absolute(folder).lexically_normal();
  if (!own.has_filename()) own = own.parent_path();  // a / at the end
  RankPlace place{.folder = own.string()};
  HLOSCOPE_ASSIGN_OR_RETURN(place.rank, NumberOf(row, row.rank));
  HLOSCOPE_ASSIGN_OR_RETURN(place.ranks, NumberOf(row, row.ranks));
  HLOSCOPE_ASSIGN_OR_RETURN(place.local, NumberOf(row, row.local));
  if (place.rank >= place.ranks) {
    return InputError(fmt::format("{} is {}, {} is {}: expected a smaller rank", row.rank,
                                  place.rank, row.ranks, place.ranks));
  }
  std::error_code error;
  fs::create_directories(own.parent_path(), error);
  // Another rank may be as fast; what it is, and whose, is looked at in any case.
  [[maybe_unused]] const int made = mkdir(place.folder.c_str(), 0700);
  HLOSCOPE_TRY(Write(place.folder, fmt::format("rank-{}", place.rank), {}));
  return place;
}

std::string RankVariable(const RankPlace& place) {
  return fmt::format("{}{}/{}/{}/{}", kVariable, place.rank, place.ranks, place.local,
                     place.folder);
}

bool HasRank(const std::vector<std::string>& environment) {
  return std::ranges::any_of(environment,
                             [](const std::string& entry) { return entry.starts_with(kVariable); });
}

std::shared_ptr<const Ranks> Ranks::OfProcess() {
  static const std::shared_ptr<const Ranks> ranks = []() -> std::shared_ptr<const Ranks> {
    const std::string name(kVariable.substr(0, kVariable.size() - 1));
    const char* const given = std::getenv(name.c_str());
    if (given == nullptr) return nullptr;
    RankPlace place;
    std::string_view text = given;
    for (int64_t* number : {&place.rank, &place.ranks, &place.local}) {
      const size_t end = text.find('/');
      if (end == std::string_view::npos) return nullptr;
      if (std::from_chars(text.data(), text.data() + end, *number).ec != std::errc()) {
        return nullptr;
      }
      text.remove_prefix(end + 1);
    }
    place.folder = text;
    return std::make_shared<const Ranks>(std::move(place));
  }();
  return ranks;
}

Status Ranks::Begin() const {
  const std::lock_guard lock(mutex_);
  if (has_begun_) return {};
  Status first = Put(fmt::format("worker-{}", place_.rank), {});
  if (!first.has_value()) {
    if (first.error().error_class == ErrorClass::kInput)
      first.error().message += ", or a worker of this rank crashed here before it ran";
    return first;
  }
  has_begun_ = true;
  return {};
}

std::string Ranks::NewName(const std::string& what) const {
  const std::lock_guard lock(mutex_);
  return fmt::format("{}-{}", what, ++named_[what]);
}

Status Ranks::Put(std::string_view name, std::string_view bytes) const {
  return Write(place_.folder, name, bytes);
}

Result<std::string> Ranks::Take(std::string_view name, int64_t rank, std::string_view doing,
                                const std::function<Status()>& look) const {
  while (true) {
    HLOSCOPE_ASSIGN_OR_RETURN(auto bytes, Read(place_.folder, name));
    if (bytes) return *std::move(bytes);
    HLOSCOPE_TRY(Look());
    if (Status status = look(); !status.has_value()) {
      status.error().message += fmt::format("; rank {} did not connect: {}", rank, doing);
      return std::unexpected(std::move(status).error());
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
}

void Ranks::Remove(std::string_view name) const {
  const auto in = OpenFolder(place_.folder);
  if (in.has_value()) unlinkat(in->get(), std::string(name).c_str(), 0);
}

void Ranks::Fail(const Error& error) const {
  // The first says why. Who cannot be told waits until the deadline.
  [[maybe_unused]] const Status written = Put(
      kFailed,
      fmt::format("{} {} {}", place_.rank, static_cast<int>(error.error_class), error.ToString()));
}

Status Ranks::Look() const {
  {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now < next_look_) return {};
    next_look_ = now + kBetweenLooks;
  }
  return LookNow();
}

Status Ranks::LookAgain() const {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  Status told = LookNow();
  while (told.has_value() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kBetweenTries);
    told = LookNow();
  }
  return told;
}

Status Ranks::LookNow() const {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto text, Read(place_.folder, kFailed));
  if (!text) return {};
  std::istringstream in(*text);
  std::string rank, why;
  int number = -1;
  in >> rank >> number;
  if (rank == std::to_string(place_.rank)) return {};
  in.ignore();
  std::getline(in, why, '\0');
  const bool is_known = number >= 0 && number <= static_cast<int>(ErrorClass::kInternal) &&
                        IsExecutionFailure(static_cast<ErrorClass>(number));
  return std::unexpected(Error{is_known ? static_cast<ErrorClass>(number) : ErrorClass::kCrashed,
                               fmt::format("rank {} failed: {}", rank, why),
                               {},
                               {}});
}

}  // namespace hloscope::replay
