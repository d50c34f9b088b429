// Looking for plugins where the environment says.
#include "core/replay/pjrt/find_plugin.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

namespace hloscope::replay::pjrt {
namespace {

// Well-known names of plugin files.
bool IsPluginOf(std::string_view platform, std::string_view file) {
  if (!file.ends_with(".so")) return false;
  if (platform == "xla-cpu") return file.find("cpu_plugin") != std::string_view::npos;
  return file == "xla_cuda_plugin.so" || file.find("gpu_plugin") != std::string_view::npos;
}

}  // namespace

Result<std::string> FindPlugin(std::string_view platform) {
  const char* variable = std::getenv("HLOSCOPE_PLUGIN_PATH");
  std::string_view left = variable == nullptr ? "" : variable;
  while (!left.empty()) {
    const size_t end = left.find(':');
    const std::filesystem::path path(left.substr(0, end));
    left = end == std::string_view::npos ? "" : left.substr(end + 1);
    if (IsPluginOf(platform, path.filename().string())) return path.string();
    std::error_code code;
    for (const auto& entry : std::filesystem::directory_iterator(path, code)) {
      if (IsPluginOf(platform, entry.path().filename().string())) return entry.path().string();
    }
  }
  return EnvironmentError(fmt::format("there is no plugin for {}", platform),
                          "set HLOSCOPE_PLUGIN_PATH to its .so file, or give --platform "
                          "pjrt:FILE.so");
}

}  // namespace hloscope::replay::pjrt
