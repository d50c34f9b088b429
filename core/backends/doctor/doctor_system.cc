// What the kernel and the environment say about devices and permissions, without loading anything.
#include <fmt/format.h>
#include <grp.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "core/backends/doctor/doctor_info.h"
#include "core/backends/plugins/python_environments.h"
#include "core/base/counted.h"

namespace hloscope::replay {
namespace {

namespace fs = std::filesystem;

// The first bytes of a file of the kernel's; empty where there is none.
std::string Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(1 << 14, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

std::optional<int> NumberAfter(std::string_view text, std::string_view key) {
  size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  at = text.find_first_not_of(" \t", at + key.size());
  int number = 0;
  if (at == std::string_view::npos ||
      std::from_chars(text.data() + at, text.data() + text.size(), number).ec != std::errc()) {
    return std::nullopt;
  }
  return number;
}

// "580.65.06" in "NVRM version: NVIDIA UNIX … Kernel Module  580.65.06  Release …".
std::string KernelDriver(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  size_t at = 0;
  while (at < line.size()) {
    const size_t begin = line.find_first_not_of(' ', at);
    if (begin == std::string_view::npos) return {};
    const size_t end = std::min(line.find(' ', begin), line.size());
    const std::string_view word = line.substr(begin, end - begin);
    if (word.size() > 3 && word.find('.') != std::string_view::npos &&
        word.find_first_not_of("0123456789.") == std::string_view::npos) {
      return std::string(word);
    }
    at = end;
  }
  return {};
}

int CountNvidiaDevices(const fs::path& folder) {
  int count = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    // Display controllers of vendor 10de: class 0300 or, without a screen, 0302.
    if (Read(it->path() / "vendor").starts_with("0x10de") &&
        Read(it->path() / "class").starts_with("0x03")) {
      ++count;
    }
  }
  return count;
}

DeviceNode ReadNode(const fs::path& path, const std::string& shown) {
  DeviceNode node{shown, access(path.c_str(), R_OK | W_OK) == 0, {}};
  struct stat info{};
  if (stat(path.c_str(), &info) == 0 && (info.st_mode & S_IRGRP) != 0 && info.st_gid != 0) {
    const group* owner = getgrgid(info.st_gid);
    if (owner != nullptr) node.group = owner->gr_name;
  }
  return node;
}

std::vector<DeviceNode> ReadNodes(const std::string& root) {
  std::vector<DeviceNode> nodes;
  std::error_code error;
  for (fs::directory_iterator it(root + "/dev", error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    const bool is_device = name.starts_with("nvidia") && !fs::is_directory(it->path(), error) &&
                           !name.starts_with("nvidia-modeset");
    if (is_device) nodes.push_back(ReadNode(it->path(), "/dev/" + name));
  }
  std::ranges::sort(nodes, {}, &DeviceNode::path);
  return nodes;
}

enum class Showing : uint8_t { kWords, kFlags, kFolders };

// The names of flags, without what they are set to.
std::string FlagNames(std::string_view value) {
  std::string names;
  for (size_t begin = 0, end = 0; begin < value.size(); begin = end + 1) {
    end = std::min(value.find(' ', begin), value.size());
    std::string_view flag = value.substr(begin, end - begin);
    flag = flag.substr(0, flag.find('='));
    const bool is_name = flag.starts_with("--") && std::ranges::all_of(flag, [](unsigned char c) {
                           return std::isalnum(c) != 0 || c == '_' || c == '-';
                         });
    if (!flag.empty()) names += fmt::format("{}{}", names.empty() ? "" : " ", is_name ? flag : "…");
  }
  return names;
}

std::string Shown(std::string_view value, Showing how) {
  if (value.empty()) return "empty";
  if (how == Showing::kFlags) return FlagNames(value);
  if (how == Showing::kFolders) {
    return "set, " + Counted(SplitPathList(value).size(), "path");
  }
  constexpr size_t kMax = 64;
  const bool harmless =
      value.size() <= kMax && std::ranges::all_of(value, [](unsigned char c) {
        return std::isalnum(c) != 0 || c == ',' || c == '-' || c == '.' || c == '_' || c == ':';
      });
  return harmless ? std::string(value) : "set";
}

struct VariableRow {
  const char* name;
  Showing how;
  std::string_view purpose;
};
constexpr VariableRow kVariables[] = {
    {"CONDA_PREFIX", Showing::kFolders, "searched for plugins"},
    {"CUDA_DEVICE_ORDER", Showing::kWords, "numbers devices"},
    {"CUDA_HOME", Showing::kFolders, "searched for ptxas"},
    {"CUDA_VISIBLE_DEVICES", Showing::kWords, "selects devices"},
    {"HLOSCOPE_PLUGIN_PATH", Showing::kFolders, "searched for plugins first"},
    {"HLOSCOPE_PYTHON", Showing::kFolders, "searched for plugins, and no other environment is"},
    {"JAX_PLATFORMS", Showing::kWords, "for JAX programs; no effect here"},
    {"LD_LIBRARY_PATH", Showing::kFolders, "may replace libraries that plugins bring"},
    {"LD_PRELOAD", Showing::kFolders, "loaded into this program; not passed to workers"},
    {"NVIDIA_DRIVER_CAPABILITIES", Showing::kWords, "driver features available in a container"},
    {"NVIDIA_VISIBLE_DEVICES", Showing::kWords, "devices available in a container"},
    {"PYTHONPATH", Showing::kFolders, "searched for plugins"},
    {"TF_XLA_FLAGS", Showing::kFlags, "for TensorFlow programs; no effect here"},
    {"VIRTUAL_ENV", Showing::kFolders, "searched for plugins"},
    {"XLA_FLAGS", Showing::kFlags, "for programs that use XLA themselves; not passed to workers"},
    {"XLA_PYTHON_CLIENT_MEM_FRACTION", Showing::kWords, "for JAX programs; no effect here"},
};

}  // namespace

SystemInfo ReadSystemInfo(const std::string& root) {
  SystemInfo info;
  info.kernel_driver = KernelDriver(Read(root + "/proc/driver/nvidia/version"));
  info.nvidia_devices = CountNvidiaDevices(root + "/sys/bus/pci/devices");
  std::error_code error;
  info.in_container =
      fs::exists(root + "/.dockerenv", error) || fs::exists(root + "/run/.containerenv", error);
  info.nodes = ReadNodes(root);
  if (const auto only_root =
          NumberAfter(Read(root + "/proc/driver/nvidia/params"), "RmProfilingAdminOnly:")) {
    info.profiling_for_root_only = *only_root != 0;
  }
  info.perf_event_paranoid = NumberAfter(Read(root + "/proc/sys/kernel/perf_event_paranoid"), "");
  info.is_root = geteuid() == 0;
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    info.address_space_bytes = static_cast<int64_t>(limit.rlim_cur);
  }
  return info;
}

std::vector<VariableInfo> ReadVariables() {
  std::vector<VariableInfo> variables;
  for (const VariableRow& row : kVariables) {
    if (std::getenv(row.name) == nullptr) continue;
    variables.push_back(
        {row.name, Shown(EnvironmentVariable(row.name), row.how), std::string(row.purpose)});
  }
  return variables;
}

}  // namespace hloscope::replay
