// Names and ages of what is kept.
#include "viewer/model/retained_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

#include "core/dump/instruction_lookup.h"

namespace hloscope::viewer {

namespace fs = std::filesystem;

namespace {

// True: it was not there and is now. An error code of what else went wrong.
bool MakeNew(const std::string& path, RetainedKind kind, std::error_code& error) {
  if (kind == RetainedKind::kFolder) return fs::create_directory(path, error);
  if (std::FILE* file = std::fopen(path.c_str(), "wx")) return std::fclose(file) == 0;
  if (errno != EEXIST) error = std::error_code(errno, std::generic_category());
  return false;
}

}  // namespace

RetainedFiles::RetainedFiles(std::string state_folder, std::string name, std::string ending,
                             RetainedKind kind, size_t most)
    : state_folder_(std::move(state_folder)),
      name_(std::move(name)),
      ending_(std::move(ending)),
      kind_(kind),
      most_(most) {}

Result<std::string> RetainedFiles::Folder() {
  if (state_folder_.empty()) {
    if (!scratch_) {
      HLOSCOPE_ASSIGN_OR_RETURN(auto made, ScratchFolder::Make());
      scratch_.emplace(std::move(made));
    }
    return scratch_->path();
  }
  std::string folder = state_folder_ + "/" + name_;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return EnvironmentError(folder + ": " + error.message());
  return folder;
}

Result<std::string> RetainedFiles::NewPath(std::string_view module, std::string_view platform) {
  constexpr size_t kLongest = 80;
  const std::lock_guard lock(mutex_);
  HLOSCOPE_ASSIGN_OR_RETURN(const std::string folder, Folder());
  const std::string base =
      fmt::format("{}/{}.{}", folder, dump::SanitizedName(module.substr(0, kLongest)),
                  dump::SanitizedName(fs::path(platform).stem().string()));
  std::error_code error;
  for (int64_t number = 1;; ++number) {
    std::string path = fmt::format("{}.{}{}", base, number, ending_);
    if (MakeNew(path, kind_, error)) return path;
    if (error) return EnvironmentError(path + ": " + error.message());
  }
}

// What is not there cannot be counted: no error.
void RetainedFiles::RemoveOldest() {
  const std::lock_guard lock(mutex_);
  if (state_folder_.empty()) return;
  std::vector<std::pair<fs::file_time_type, fs::path>> found;
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(state_folder_ + "/" + name_, error)) {
    if (entry.path().extension() != ending_) continue;
    found.emplace_back(entry.last_write_time(error), entry.path());
  }
  if (found.size() <= most_) return;
  std::ranges::sort(found);
  for (size_t i = 0; i < found.size() - most_; ++i) fs::remove_all(found[i].second, error);
}

}  // namespace hloscope::viewer
