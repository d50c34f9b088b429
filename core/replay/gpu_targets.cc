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
constexpr std::string_view kDigits = "0123456789";

// The digits behind `key` in the braces that `text` begins with; 0 where they are left out.
std::string NumberOf(std::string_view text, std::string_view key) {
  text = text.substr(0, text.find('}'));
  size_t at = text.find(key);
  if (at == std::string_view::npos) return "0";
  at = text.find_first_of(kDigits, at);
  if (at == std::string_view::npos) return "0";
  return std::string(text.substr(at, text.find_first_not_of(kDigits, at) - at));
}

}  // namespace

std::string ComputeCapability(std::string_view target) {
  const size_t at = target.find("cuda_compute_capability");
  if (at == std::string_view::npos) return {};
  const std::string_view capability = target.substr(at);
  return fmt::format("{}.{}", NumberOf(capability, "major:"), NumberOf(capability, "minor:"));
}

std::string GpuTargetOf(std::string_view architecture, const Limits& limits) {
  if (!architecture.starts_with("sm_")) return {};
  const std::string_view digits =
      architecture.substr(3, architecture.find_first_not_of(kDigits, 3) - 3);
  if (digits.size() < 2) return {};
  const std::string wanted =
      fmt::format("{}.{}", digits.substr(0, digits.size() - 1), digits.back());
  for (const std::string& name : GpuTargetNames()) {
    const auto text = ReadGpuTarget(name, limits);
    if (text && ComputeCapability(*text) == wanted) return name;
  }
  return {};
}

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
