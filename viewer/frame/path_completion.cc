// Reads one folder.
#include "viewer/frame/path_completion.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>

namespace hloscope::viewer {
namespace {

// No more of a folder is read: typing must not wait for it.
constexpr size_t kMaxRead = 20000;

bool BeginsWith(std::string_view name, std::string_view begin) {
  return name.size() >= begin.size() &&
         std::ranges::equal(name.substr(0, begin.size()), begin, [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) ==
                  std::tolower(static_cast<unsigned char>(b));
         });
}

}  // namespace

std::vector<std::string> CompletionsOf(std::string_view typed, size_t most) {
  namespace fs = std::filesystem;
  std::string path(typed);
  const char* home = std::getenv("HOME");
  if (path.starts_with("~/") && home != nullptr) path = home + path.substr(1);
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  const std::string begin = slash == std::string::npos ? path : path.substr(slash + 1);
  std::vector<std::string> folders, files;
  std::error_code error;
  size_t read = 0;
  for (fs::directory_iterator at(folder.empty() ? "." : folder, error), end;
       !error && at != end && read < kMaxRead; at.increment(error), ++read) {
    const std::string name = at->path().filename().string();
    if (!BeginsWith(name, begin) || (name.starts_with('.') && !begin.starts_with('.'))) continue;
    std::error_code none;
    const bool is_folder = at->is_directory(none);
    (is_folder ? folders : files).push_back(folder + name + (is_folder ? "/" : ""));
  }
  std::ranges::sort(folders);
  std::ranges::sort(files);
  folders.insert(folders.end(), files.begin(), files.end());
  if (folders.size() > most) folders.resize(most);
  return folders;
}

std::string CommonBeginning(std::string_view typed, const std::vector<std::string>& completions) {
  if (completions.empty()) return std::string(typed);
  std::string common = completions.front();
  for (const std::string& one : completions) {
    const auto [a, b] = std::ranges::mismatch(common, one);
    common.erase(a, common.end());
  }
  return common.size() > typed.size() ? common : std::string(typed);
}

}  // namespace hloscope::viewer
