// Finding PJRT plugins in folders of Python packages.
#include "core/backends/plugins/plugins.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>

#include "core/backends/plugins/file_kinds.h"
#include "core/backends/plugins/python_environments.h"
#include "core/base/counted.h"
#include "core/replay/assets.h"

namespace hloscope::replay {
namespace {

namespace fs = std::filesystem;

struct KnownPlugin {
  Devices devices;
  std::string_view file, distribution, working_version;
  int cuda_major, least_capability;
};
// Where several drive the same devices the first row wins. kNone: no platform of ours; found and
// reported, run as pjrt:FILE.
constexpr KnownPlugin kKnownPlugins[] = {
    {Devices::kHost, "lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so", "lammps-jax-pjrt-cpu",
     "0.11.2", 0, 0},
    {Devices::kGpu, "jax_plugins/xla_cuda13/xla_cuda_plugin.so", "jax-cuda13-pjrt", "0.12.0", 13,
     75},
    {Devices::kGpu, "jax_plugins/xla_cuda12/xla_cuda_plugin.so", "jax-cuda12-pjrt", "0.12.0", 12,
     52},
    {Devices::kGpu, "jax_plugins/xla_cuda_cu12/xla_cuda_plugin.so", "jax-cuda12-pjrt", "0.12.0", 12,
     52},
    {Devices::kGpu, "torch_xla_cuda_plugin/lib/pjrt_c_api_gpu_plugin.so", "torch-xla-cuda-plugin",
     "", 12, 52},
    {Devices::kNone, "jax_plugins/xla_rocm7/xla_rocm_plugin.so", "jax-rocm7-pjrt", "", 0, 0},
    {Devices::kNone, "jax_plugins/xla_rocm60/xla_rocm_plugin.so", "jax-rocm60-pjrt", "", 0, 0},
    {Devices::kNone, "libtpu/libtpu.so", "libtpu", "", 0, 0},
};

constexpr size_t kEntryPointsBytes = 1 << 16;  // a file of entry points is far smaller

// "Jax_CUDA13-pjrt" is "jax_cuda13_pjrt" (PEP 503, as dist-info folders spell it).
std::string NormalName(std::string_view name) {
  std::string normal;
  for (const char c : name) {
    const bool separator = c == '-' || c == '_' || c == '.';
    if (separator && normal.ends_with('_')) continue;
    normal += separator ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return normal;
}

// The entries of a folder, sorted; none where it cannot be read.
std::vector<fs::path> Entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(it->path());
  }
  std::ranges::sort(entries);
  return entries;
}

struct Distribution {
  std::string name, version;
  fs::path folder;  // its dist-info
};

// What is installed in a folder of packages, by the names of its dist-info folders.
std::map<std::string, Distribution> ReadDistributions(const fs::path& packages) {
  std::map<std::string, Distribution> found;
  for (const fs::path& entry : Entries(packages)) {
    if (entry.extension() != ".dist-info") continue;
    const std::string stem = entry.stem().string();
    const size_t dash = stem.rfind('-');
    if (dash == std::string::npos) continue;
    const std::string name = stem.substr(0, dash);
    found.emplace(NormalName(name), Distribution{name, stem.substr(dash + 1), entry});
  }
  return found;
}

// The modules in the group jax_plugins of an entry_points.txt: lines `name = module[:object]`.
std::vector<std::string> PluginModules(const fs::path& entry_points) {
  std::vector<std::string> modules;
  std::ifstream file(entry_points, std::ios::binary);
  std::string line;
  bool inside = false;
  size_t bytes = 0;
  while (std::getline(file, line) && (bytes += line.size()) < kEntryPointsBytes) {
    std::erase_if(line, [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
    if (line.starts_with('[')) inside = line == "[jax_plugins]";
    const size_t equals = line.find('=');
    if (!inside || equals == std::string::npos) continue;
    std::string module = line.substr(equals + 1);
    modules.push_back(module.substr(0, module.find(':')));
  }
  return modules;
}

bool LooksLikePlugin(const fs::path& file) {
  const std::string name = file.filename().string();
  return file.extension() == ".so" &&
         (name.find("pjrt") != std::string::npos || name.find("plugin") != std::string::npos);
}

// The devices that the file's and the package's names speak of.
Devices DevicesByName(const fs::path& file) {
  const std::string name = NormalName((file.parent_path().filename() / file.filename()).string());
  if (name.find("cuda") != std::string::npos || name.find("gpu") != std::string::npos) {
    return Devices::kGpu;
  }
  return name.find("cpu") != std::string::npos ? Devices::kHost : Devices::kNone;
}

const KnownPlugin* Known(const fs::path& file) {
  const std::string path = file.string();
  for (const KnownPlugin& known : kKnownPlugins) {
    if (path.ends_with(fmt::format("/{}", known.file))) return &known;
  }
  return nullptr;
}

// Collects the plugins of one place after the other.
class Finder {
 public:
  // `only_known`: packages by well-known names alone, which is a few looks and no reading.
  explicit Finder(bool only_known) : only_known_(only_known) {}

  void AddPluginPath() {
    for (const std::string& path : SplitPathList(EnvironmentVariable("HLOSCOPE_PLUGIN_PATH"))) {
      AddNamed("HLOSCOPE_PLUGIN_PATH", path);
    }
  }

  void AddEnvironment(const PythonEnvironment& environment) {
    SearchedPlace place{environment.origin, environment.path, environment.problem,
                        environment.folders};
    const size_t before = findings_.plugins.size();
    bool news = false;
    for (const std::string& folder : environment.folders) {
      if (std::ranges::find(searched_, folder) != searched_.end()) continue;
      searched_.push_back(folder);
      news = true;
      AddPackages(environment.origin, folder);
    }
    if (place.outcome.empty()) {
      place.outcome = news ? PluginCount(findings_.plugins.size() - before) : "searched above";
    }
    findings_.places.push_back(std::move(place));
  }

  PluginFindings Finish() && { return std::move(findings_); }

 private:
  static std::string PluginCount(size_t plugins) {
    return plugins == 0 ? "no plugin" : Counted(plugins, "plugin");
  }

  // A library itself, a folder of libraries, or what --python takes.
  void AddNamed(const std::string& origin, const std::string& path) {
    if (fs::path(path).extension() == ".so" || IsFile(path)) {
      if (IsFile(path)) AddFile(origin, {}, path, nullptr);
      findings_.places.push_back({origin, path, IsFile(path) ? "1 plugin" : "no such file", {}});
      return;
    }
    const size_t before = findings_.plugins.size();
    for (const fs::path& entry : Entries(path)) {
      if (LooksLikePlugin(entry)) AddFile(origin, {}, entry, nullptr);
    }
    if (findings_.plugins.size() == before) {
      return AddEnvironment(ReadPythonEnvironment(origin, path));
    }
    findings_.places.push_back({origin, path, PluginCount(findings_.plugins.size() - before), {}});
  }

  void AddPackages(const std::string& origin, const std::string& folder) {
    std::map<std::string, Distribution> distributions;
    if (!only_known_) distributions = ReadDistributions(folder);
    for (const KnownPlugin& known : kKnownPlugins) {
      const fs::path file = fs::path(folder) / known.file;
      if (!IsFile(file)) continue;
      if (distributions.empty()) distributions = ReadDistributions(folder);
      const auto found = distributions.find(NormalName(known.distribution));
      AddFile(origin, folder, file, found == distributions.end() ? nullptr : &found->second);
    }
    if (only_known_) return;
    for (const auto& [name, distribution] : distributions) {
      for (std::string module : PluginModules(distribution.folder / "entry_points.txt")) {
        std::ranges::replace(module, '.', '/');
        AddModule(origin, folder, fs::path(folder) / module, &distribution);
      }
    }
    for (const fs::path& module : Entries(fs::path(folder) / "jax_plugins")) {
      AddModule(origin, folder, module, nullptr);
    }
  }

  // The libraries of a package and of the folders right below it.
  void AddModule(const std::string& origin, const std::string& folder, const fs::path& module,
                 const Distribution* distribution) {
    if (!IsFolder(module)) return;
    for (const fs::path& entry : Entries(module)) {
      if (LooksLikePlugin(entry) && IsFile(entry)) AddFile(origin, folder, entry, distribution);
      if (!IsFolder(entry)) continue;
      for (const fs::path& below : Entries(entry)) {
        if (LooksLikePlugin(below) && IsFile(below)) AddFile(origin, folder, below, distribution);
      }
    }
  }

  void AddFile(const std::string& origin, const std::string& folder, const fs::path& file,
               const Distribution* distribution) {
    std::error_code error;
    const std::string path = fs::absolute(file, error).lexically_normal().string();
    if (std::ranges::find(findings_.plugins, path, &PluginFile::path) != findings_.plugins.end()) {
      return;
    }
    PluginFile plugin;
    plugin.path = path;
    plugin.origin = origin;
    plugin.folder = folder;
    const KnownPlugin* known = Known(path);
    plugin.devices = known != nullptr ? known->devices : DevicesByName(path);
    if (known != nullptr) {
      plugin.distribution = known->distribution;
      plugin.cuda_major = known->cuda_major;
      plugin.least_capability = known->least_capability;
    }
    if (distribution != nullptr) {
      plugin.version = distribution->version;
      if (known == nullptr) plugin.distribution = distribution->name;
    }
    findings_.plugins.push_back(std::move(plugin));
  }

  bool only_known_;
  PluginFindings findings_;
  std::vector<std::string> searched_;  // folders of packages
};

// `python`: the only environment that is searched; empty: all that are known.
PluginFindings Find(const std::string& python, bool only_known) {
  Finder finder(only_known);
  if (!python.empty()) {
    finder.AddEnvironment(ReadPythonEnvironment("--python", python));
    return std::move(finder).Finish();
  }
  finder.AddPluginPath();
  for (const PythonEnvironment& environment : ActivePythonEnvironments()) {
    finder.AddEnvironment(environment);
  }
  const std::string own = PrivatePluginEnvironment();
  if (!own.empty()) {
    finder.AddEnvironment(ReadPythonEnvironment("environment of scripts/setup", own));
  }
  return std::move(finder).Finish();
}

// Into the environment that was named, where one was: no other is searched then.
std::string InstallHint(Devices devices, const PluginSearch& search) {
  const std::string python = NamedPython(search);
  if (python.empty()) return fmt::format("`{}` installs one", InstallCommand(devices));
  const std::string interpreter = IsFolder(python) ? python + "/bin/python3" : python;
  const auto known = std::ranges::find(kKnownPlugins, devices, &KnownPlugin::devices);
  std::string hint = fmt::format("`{} -m pip install --no-deps {}` installs one there", interpreter,
                                 known->distribution);
  for (const PluginFile& other : Find("", true).plugins) {
    if (other.devices != devices) continue;
    const std::string folder = std::filesystem::path(interpreter).parent_path().string();
    hint += fmt::format("; `PATH={}:$PATH` in place of --python also finds {}", folder, other.path);
    break;
  }
  return hint;
}

std::string PlacesText(std::span<const SearchedPlace> places) {
  std::string text;
  for (const SearchedPlace& place : places) {
    text += fmt::format("{}{} {}: {}", text.empty() ? "" : ", ", place.origin, place.path,
                        place.outcome);
  }
  return text.empty() ? "nowhere: no Python environment found" : text;
}

}  // namespace

std::string NamedPython(const PluginSearch& search) {
  return search.python.empty() ? std::string(EnvironmentVariable("HLOSCOPE_PYTHON"))
                               : search.python;
}

PluginFindings FindPlugins(const PluginSearch& search) {
  PluginFindings findings = Find(NamedPython(search), false);
  // As ResolvePlugin prefers them.
  std::ranges::stable_partition(findings.plugins, [](const PluginFile& plugin) {
    return plugin.folder.empty() || Known(plugin.path) != nullptr;
  });
  return findings;
}

std::string InstallCommand(Devices devices) {
  const std::string setup = FindAsset("setup", "scripts").value_or("scripts/setup");
  std::error_code error;
  const fs::path here = fs::current_path(error);
  const std::string shown = fs::path(setup).lexically_proximate(here).string();
  return fmt::format("{} --plugins{}", shown.starts_with("..") ? setup : shown,
                     devices == Devices::kGpu ? " --gpu" : "");
}

std::string_view PluginFile::platform() const {
  const PlatformRow* row = PluginPlatform(devices);
  return row == nullptr ? std::string_view() : row->name;
}

std::string WorkingWheel(const PluginFile& file) {
  for (const KnownPlugin& known : kKnownPlugins) {
    const bool same_cuda = file.cuda_major == 0 || known.cuda_major == file.cuda_major;
    if (known.devices != file.devices || !same_cuda || known.working_version.empty()) continue;
    return fmt::format("{}=={}", known.distribution, known.working_version);
  }
  return file.distribution;
}

Result<PluginFile> ResolvePlugin(std::string_view platform, const PluginSearch& search) {
  if (platform.starts_with(kPluginFilePrefix)) {
    const std::string path(platform.substr(kPluginFilePrefix.size()));
    if (!IsFile(path)) return InputError(fmt::format("{}: no such plugin file", path));
    PluginFile plugin;
    plugin.path = path;
    plugin.devices = DevicesByName(path);
    plugin.origin = "pjrt:";
    if (const KnownPlugin* known = Known(path); known != nullptr) {
      plugin.cuda_major = known->cuda_major;
      plugin.least_capability = known->least_capability;
    }
    return plugin;
  }
  const PlatformRow* row = FindPlatform(platform);
  if (row == nullptr || !row->Has(kNeedsPlugin)) {
    return InputError(fmt::format("no plugin provides a platform {}", platform),
                      fmt::format("expected {} or pjrt:FILE.so", PlatformNames(kNeedsPlugin)));
  }
  // Most have a well-known name; the rest takes some milliseconds of reading.
  PluginFindings findings;
  for (const bool only_known : {true, false}) {
    findings = Find(NamedPython(search), only_known);
    for (PluginFile& plugin : findings.plugins) {
      if (plugin.devices == row->devices) return std::move(plugin);
    }
  }
  return EnvironmentError(
      fmt::format("no plugin for {} found; searched {}", platform, PlacesText(findings.places)),
      InstallHint(row->devices, search));
}

}  // namespace hloscope::replay
