// Files of recorded runs.
#include "viewer/model/run_profiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/base/jobs.h"
#include "core/dump/instruction_lookup.h"

namespace hloscope::viewer {
namespace {

constexpr std::string_view kProfileEnding = ".hloprof";

// What is not there cannot be counted: no error.
void RemoveOldest(const std::string& folder, size_t most) {
  std::vector<std::pair<std::filesystem::file_time_type, std::filesystem::path>> files;
  std::error_code error;
  for (const std::filesystem::directory_entry& entry :
       std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() != kProfileEnding) continue;
    files.emplace_back(entry.last_write_time(error), entry.path());
  }
  if (files.size() <= most) return;
  std::ranges::sort(files);
  for (size_t i = 0; i < files.size() - most; ++i) std::filesystem::remove(files[i].second, error);
}

std::string FreePath(const std::string& folder, std::string_view module,
                     std::string_view platform) {
  constexpr size_t kLongest = 80;
  const std::string base =
      fmt::format("{}/{}.{}", folder, dump::SanitizedName(module.substr(0, kLongest)),
                  dump::SanitizedName(std::filesystem::path(platform).stem().string()));
  std::error_code error;
  for (int64_t number = 1;; ++number) {
    std::string path = fmt::format("{}.{}{}", base, number, kProfileEnding);
    if (!std::filesystem::exists(path, error)) return path;
  }
}

}  // namespace

Result<std::string> RunProfiles::Folder() {
  if (state_folder_.empty()) {
    if (!scratch_) {
      HLOSCOPE_ASSIGN_OR_RETURN(auto made, replay::ScratchFolder::Make());
      scratch_.emplace(std::move(made));
    }
    return scratch_->path();
  }
  std::string folder = state_folder_ + "/profiles";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return EnvironmentError(folder + ": " + error.message());
  return folder;
}

Result<RunProfile> RunProfiles::Write(debug::RunRecorder& recorder, std::string_view module,
                                      std::string_view platform) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto profile, recorder.Finish(SharedJobs(AvailableCpus())));
  const std::lock_guard lock(mutex_);
  HLOSCOPE_ASSIGN_OR_RETURN(const std::string folder, Folder());
  RunProfile written{
      .path = FreePath(folder, module, platform), .is_kept = !state_folder_.empty(), .lost = {}};
  HLOSCOPE_ASSIGN_OR_RETURN(written.lost,
                            profiler::WriteProfile({*profile, nullptr, written.path}));
  if (written.is_kept) RemoveOldest(folder, kMostKept);
  return written;
}

}  // namespace hloscope::viewer
