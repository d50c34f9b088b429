// Targets as files that come with the program.
#include "core/replay/gpu_targets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "core/base/file.h"
#include "core/replay/assets.h"

namespace hloscope::replay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTargetFolder = "gpu-targets", kTargetEnding = ".pbtxt";

}  // namespace

std::vector<std::string> GpuTargetNames() {
  std::vector<std::string> names;
  const std::optional<std::string> folder = FindAsset(kTargetFolder, "assets");
  std::error_code error;
  for (fs::directory_iterator it(folder.value_or(""), error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() == kTargetEnding) names.push_back(it->path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

Result<std::string> ReadGpuTarget(const std::string& name_or_file, const Limits& limits) {
  std::string path = name_or_file;
  if (std::ranges::count(GpuTargetNames(), name_or_file) != 0) {
    path = fmt::format("{}/{}{}", *FindAsset(kTargetFolder, "assets"), name_or_file, kTargetEnding);
  } else if (std::error_code error; !fs::exists(path, error)) {
    return InputError(fmt::format("--target {}: neither a device nor a file", name_or_file),
                      fmt::format("devices: {}", fmt::join(GpuTargetNames(), ", ")));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const FileView file, FileView::Open(path, limits));
  return std::string(file.bytes());
}

}  // namespace hloscope::replay
