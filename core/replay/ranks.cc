// Variables of launchers, and files.
#include "core/replay/ranks.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>

#include "core/base/file.h"
#include "core/base/unique_fd.h"

namespace hloscope::replay {
namespace {

namespace fs = std::filesystem;

struct LauncherRow {
  const char *name, *rank, *ranks, *local;
};
constexpr LauncherRow kLaunchers[] = {
#define RANKS(name, rank, ranks, local) {name, rank, ranks, local},
#include "core/replay/ranks.def"
#undef RANKS
};

constexpr std::string_view kVariable = "HLOSCOPE_RANK=";
constexpr std::string_view kFailed = "failed";
constexpr int64_t kMostRanks = 1 << 16;
constexpr std::chrono::milliseconds kBetweenTries{2}, kBetweenLooks{50};

Result<int64_t> NumberOf(const LauncherRow& row, const char* variable) {
  const char* const given = std::getenv(variable);
  const std::string_view text = given == nullptr ? "" : given;
  int64_t number = -1;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end || number < 0 || number > kMostRanks) {
    return InputError(fmt::format("{} of {} is `{}`: expected a number", variable, row.name, text),
                      fmt::format("start it by the launcher, which sets {}, {} and {}", row.rank,
                                  row.ranks, row.local));
  }
  return number;
}

}  // namespace

Result<RankPlace> TakeRank(const std::string& folder) {
  for (const LauncherRow& row : kLaunchers) {
    if (std::getenv(row.rank) == nullptr) continue;
    RankPlace place{.folder = fs::absolute(folder).string()};
    HLOSCOPE_ASSIGN_OR_RETURN(place.rank, NumberOf(row, row.rank));
    HLOSCOPE_ASSIGN_OR_RETURN(place.ranks, NumberOf(row, row.ranks));
    HLOSCOPE_ASSIGN_OR_RETURN(place.local, NumberOf(row, row.local));
    if (place.rank >= place.ranks) {
      return InputError(fmt::format("{} is {}, {} is {}: expected a smaller rank", row.rank,
                                    place.rank, row.ranks, place.ranks));
    }
    std::error_code error;
    fs::create_directories(place.folder, error);
    const std::string path = fmt::format("{}/rank-{}", place.folder, place.rank);
    const UniqueFd own(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (own.valid()) return place;
    if (errno == EEXIST) {
      return InputError(
          fmt::format("{}: an earlier run was here: rank-{} is there", place.folder, place.rank),
          "give --ranks_folder a folder of its own for each run");
    }
    return EnvironmentError(fmt::format("{}: {}", path, std::generic_category().message(errno)),
                            "give --ranks_folder a folder that all ranks can write to");
  }
  return InputError("--ranks_folder: no launcher says which rank this process is",
                    "start it by mpirun, srun or torchrun");
}

std::string RankVariable(const RankPlace& place) {
  return fmt::format("{}{}/{}/{}/{}", kVariable, place.rank, place.ranks, place.local,
                     place.folder);
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

std::string Ranks::PathOf(std::string_view name) const {
  return fmt::format("{}/{}", place_.folder, name);
}

Status Ranks::Put(std::string_view name, std::string_view bytes) const {
  // A first byte that no packed file has.
  return WriteFileAtomically(PathOf(name), fmt::format("={}", bytes));
}

Result<std::string> Ranks::Take(std::string_view name, int64_t rank, std::string_view doing,
                                const std::function<Status()>& look) const {
  const std::string path = PathOf(name);
  std::error_code error;
  while (!fs::exists(path, error)) {
    HLOSCOPE_TRY(Look());
    if (Status status = look(); !status.has_value()) {
      status.error().message += fmt::format("; rank {} did not come: {}", rank, doing);
      return std::unexpected(std::move(status).error());
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
  Limits limits;
  HLOSCOPE_ASSIGN_OR_RETURN(const FileView view, FileView::Open(path, limits));
  return std::string(view.bytes().substr(std::min<size_t>(1, view.bytes().size())));
}

void Ranks::Fail(const Error& error) const {
  std::error_code ignored;
  if (fs::exists(PathOf(kFailed), ignored)) return;  // the first says why
  // Who cannot be told waits until the deadline.
  [[maybe_unused]] const Status written =
      Put(kFailed, fmt::format("{} {}", place_.rank, error.ToString()));
}

Status Ranks::Look() const {
  {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now < next_look_) return {};
    next_look_ = now + kBetweenLooks;
  }
  std::error_code error;
  if (!fs::exists(PathOf(kFailed), error)) return {};
  const Result<FileView> view = FileView::Open(PathOf(kFailed), Limits());
  std::string_view text = view.has_value() ? view->bytes() : "";
  text.remove_prefix(std::min<size_t>(1, text.size()));
  const size_t blank = text.find(' ');
  if (text.substr(0, blank) == std::to_string(place_.rank)) return {};
  return std::unexpected(
      Error{ErrorClass::kDied,
            fmt::format("rank {} failed: {}", text.substr(0, blank),
                        blank == std::string_view::npos ? "" : text.substr(blank + 1)),
            {},
            {}});
}

}  // namespace hloscope::replay
