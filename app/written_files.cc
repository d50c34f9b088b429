#include "app/written_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>

namespace hloscope::app {
namespace {

namespace fs = std::filesystem;

bool IsFile(const std::string& path) {
  std::error_code error;
  return !path.empty() && path != "-" && !path.ends_with('/') && !fs::is_directory(path, error);
}

// The same for all names of a file: where it is, or where it would be.
std::string Identity(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) == 0) return fmt::format("{}:{}", info.st_dev, info.st_ino);
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(fs::absolute(path, error), error);
  return error ? path : whole.string();
}

}  // namespace

WrittenFiles::WrittenFiles(std::initializer_list<std::span<const std::string>> read) {
  for (const std::span<const std::string> files : read) {
    for (const std::string& file : files) {
      if (IsFile(file)) read_.insert(Identity(file));
    }
  }
}

Status WrittenFiles::Add(const FileToWrite& file) {
  if (!IsFile(file.path)) return {};
  const std::string identity = Identity(file.path);
  if (read_.contains(identity)) {
    return InputError(fmt::format("{} {}: that is an input", file.option, file.path),
                      "name another file");
  }
  const auto [writer, is_new] = writers_.try_emplace(identity, file.option);
  if (is_new) return {};
  return InputError(
      fmt::format("{} {}: {} writes the same file", writer->second, file.path, file.option),
      "name another file for one of them");
}

Status CheckFilesToWrite(std::span<const FileToWrite> written,
                         std::initializer_list<std::span<const std::string>> read) {
  WrittenFiles files(read);
  for (const FileToWrite& file : written) HLOSCOPE_TRY(files.Add(file));
  return {};
}

}  // namespace hloscope::app
