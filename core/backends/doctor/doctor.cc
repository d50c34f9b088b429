// Judging what was found: one function per section, one state per finding.
#include "core/backends/doctor/doctor.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace hloscope::replay {
namespace {

constexpr DoctorStateRow kRows[] = {
#define DOCTOR_STATE(name, section, text, status, message, command) \
  {DoctorState::name, section, text, DoctorStatus::status, message, command},
#include "core/backends/doctor/doctor_states.def"
#undef DOCTOR_STATE
};

// CUresult.
constexpr int kStubLibrary = 34, kNoDevice = 100, kInvalidDevice = 101, kDriverMismatch = 803,
              kIncompatibleDriver = 804;

std::string DottedCapability(int capability) {
  return fmt::format("{}.{}", capability / 10, capability % 10);
}

std::string NameOf(const PluginFile& file) {
  if (file.distribution.empty()) return std::filesystem::path(file.path).filename().string();
  return file.version.empty() ? file.distribution
                              : fmt::format("{} {}", file.distribution, file.version);
}

// The interpreter of the environment that holds a folder of packages: PREFIX/lib/pythonX.Y/….
std::string PythonOf(const std::string& packages) {
  const std::filesystem::path prefix =
      std::filesystem::path(packages).parent_path().parent_path().parent_path();
  std::error_code error;
  const std::filesystem::path python = prefix / "bin/python3";
  return std::filesystem::exists(python, error) ? python.string() : "python3";
}

// Puts the wheel that is known to work in the place of the broken one.
std::string ReinstallCommand(const PluginFile& file) {
  if (file.folder.empty()) return "unset HLOSCOPE_PLUGIN_PATH";
  return fmt::format("{} -m pip install --force-reinstall --no-deps {}", PythonOf(file.folder),
                     WorkingWheel(file));
}

// A plugin for the CUDA that older drivers and devices have, in place of the newer one.
std::string Cuda12Command(const PluginFile& file) {
  const std::string python = file.folder.empty() ? "python3" : PythonOf(file.folder);
  return fmt::format(
      "{0} -m pip uninstall -y jax-cuda13-pjrt && {0} -m pip install --no-deps "
      "jax-cuda12-pjrt==0.12.0",
      python);
}

class Doctor {
 public:
  explicit Doctor(const DoctorInfo& info) : info_(info) {}

  std::vector<DoctorFinding> Diagnose() && {
    CheckProgram();
    CheckPlugins();
    CheckDevices();
    CheckDriver();
    CheckFrameworks();
    CheckLibraries();
    CheckPermissions();
    CheckLimits();
    CheckCache();
    CheckEnvironment();
    return std::move(findings_);
  }

 private:
  template <typename... Args>
  void Add(DoctorState state, std::string_view subject, const Args&... arguments) {
    const DoctorStateRow& row = kRows[static_cast<size_t>(state)];
    fmt::dynamic_format_arg_store<fmt::format_context> store;
    (store.push_back(arguments), ...);
    findings_.push_back(
        {state, std::string(subject),
         fmt::vformat(fmt::string_view(row.message.data(), row.message.size()), store),
         fmt::vformat(fmt::string_view(row.command.data(), row.command.size()), store)});
  }

  void CheckProgram() {
    for (const OwnLibraryInfo& library : info_.own_libraries) {
      library.error.empty() ? Add(DoctorState::kOwnLibraryReady, library.name)
                            : Add(DoctorState::kOwnLibraryUnusable, library.name, library.error);
    }
  }

  void CheckPlugins() {
    for (const SearchedPlace& place : info_.findings.places) {
      const bool gone = place.folders.empty() && place.outcome.starts_with("no");
      const bool named = place.origin == "HLOSCOPE_PLUGIN_PATH" || place.origin == "VIRTUAL_ENV";
      if (gone && named) {
        Add(DoctorState::kPluginPathGone, "search", place.origin, place.path, place.outcome);
      }
    }
    for (const PlatformRow& row : PlatformRows()) {
      if (row.Has(kNeedsPlugin)) CheckPlatform(row.name, row.devices);
    }
    CheckPlatform("", Devices::kNone);
    CheckJaxlibs();
  }

  // What stands on the disk: no Python is started for it.
  void CheckJaxlibs() {
    const std::string subject = PlatformNames(kNeedsPython);
    if (info_.jaxlibs.empty()) Add(DoctorState::kJaxlibAbsent, subject);
    for (const JaxlibPlace& place : info_.jaxlibs) {
      const bool is_used = &place == &info_.jaxlibs.front();
      Add(is_used ? DoctorState::kJaxlibReady : DoctorState::kJaxlibAlsoThere, subject,
          place.version, place.origin, place.python);
    }
  }

  // Why a framework finds no GPU, step by step: its build, the driver, the device.
  void CheckFrameworks() {
    for (const FrameworkInfo& one : info_.frameworks) {
      const std::string subject = fmt::format("{} {}", one.distribution, one.version);
      const std::string python = PythonOf(one.folder);
      if (!one.is_build_known) {
        Add(DoctorState::kFrameworkFound, subject, one.xla);
        continue;
      }
      if (one.cuda.empty()) {
        const bool is_tensorflow = one.name == "TensorFlow";
        const bool is_jax = one.name == "JAX";
        Add(DoctorState::kFrameworkWithoutCuda, subject, one.xla,
            is_tensorflow ? fmt::format("{0} -m pip uninstall -y {1} && {0} -m pip install "
                                        "'tensorflow[and-cuda]=={2}'",
                                        python, one.distribution, one.version)
            : is_jax      ? fmt::format("{} -m pip install 'jax[cuda12]=={}'", python, one.version)
                          : std::string());
        continue;
      }
      const std::string build = BuildText(one);
      const int major = std::atoi(one.cuda.c_str());
      if (!info_.driver.found || info_.driver.devices.empty()) {
        Add(DoctorState::kFrameworkNoGpu, subject, build, one.xla);
      } else if (info_.driver.version / 1000 < major) {
        Add(DoctorState::kFrameworkDriverTooOld, subject, build,
            fmt::format("{}.{}", info_.driver.version / 1000, info_.driver.version % 1000 / 10));
      } else {
        Add(DoctorState::kFrameworkReady, subject, build, one.xla);
      }
    }
  }

  // "CUDA 12.5.1 and cuDNN 9 (9.3.0.75 is there)".
  static std::string BuildText(const FrameworkInfo& one) {
    std::string text = "CUDA " + one.cuda;
    if (!one.plugin.empty()) text += fmt::format(" ({})", one.plugin);
    if (!one.cudnn.empty()) text += " and cuDNN " + one.cudnn;
    if (!one.cudnn_there.empty()) text += fmt::format("; cuDNN {} is there", one.cudnn_there);
    return text;
  }

  void CheckPlatform(std::string_view platform, Devices devices) {
    bool first = true;
    for (const PluginInfo& plugin : info_.plugins) {
      if (plugin.file.devices != devices) continue;
      CheckPlugin(plugin, first && !platform.empty());
      first = false;
    }
    if (!first || platform.empty()) return;
    if (devices == Devices::kHost && !info_.jaxlib_version.empty()) {
      return Add(DoctorState::kPluginOnlyJaxlib, platform, info_.jaxlib_version,
                 info_.jaxlib_folder, InstallCommand(devices));
    }
    std::string places;
    for (const SearchedPlace& place : info_.findings.places) {
      places += fmt::format("{}{} {}: {}", places.empty() ? "" : ", ", place.origin, place.path,
                            place.outcome);
    }
    Add(DoctorState::kPluginAbsent, platform, places.empty() ? "nowhere" : places,
        InstallCommand(devices));
  }

  void CheckPlugin(const PluginInfo& plugin, bool is_used) {
    const PluginFile& file = plugin.file;
    const std::string subject(file.platform().empty() ? "other" : file.platform());
    if (plugin.died) {
      return Add(DoctorState::kPluginDies, subject, file.path, file.origin, plugin.problem,
                 ReinstallCommand(file));
    }
    if (!plugin.problem.empty()) {
      return Add(DoctorState::kPluginUnusable, subject, plugin.problem, file.origin,
                 ReinstallCommand(file));
    }
    Add(is_used ? DoctorState::kPluginReady : DoctorState::kPluginAlsoThere, subject, NameOf(file),
        fmt::format("{}.{} {} profiler extension", plugin.major, plugin.minor,
                    plugin.has_profiler ? "with a" : "without"),
        file.origin, file.path);
  }

  void CheckDevices() {
    for (const PlatformRow& row : PlatformRows()) {
      if (!row.Has(kNeedsPlugin)) continue;
      const auto plugin = std::ranges::find_if(info_.plugins, [&](const PluginInfo& candidate) {
        return candidate.file.devices == row.devices && candidate.problem.empty();
      });
      if (plugin == info_.plugins.end()) continue;
      if (!plugin->devices.empty()) {
        Add(DoctorState::kDevicesSeen, row.name, Counted(plugin->devices));
      } else if (row.devices == Devices::kHost) {
        Add(DoctorState::kDevicesUnseen, row.name, plugin->device_problem);
      } else {
        ExplainNoGpu(*plugin);
      }
    }
  }

  // "2 × NVIDIA H100 80GB HBM3, 1 × cpu", in the order of their first.
  static std::string Counted(const std::vector<std::string>& kinds) {
    std::vector<std::string> seen;
    std::string text;
    for (const std::string& kind : kinds) {
      if (std::ranges::find(seen, kind) != seen.end()) continue;
      seen.push_back(kind);
      text +=
          fmt::format("{}{} × {}", text.empty() ? "" : ", ", std::ranges::count(kinds, kind), kind);
    }
    return text;
  }

  // The first cause that is known to keep XLA from every device, from the outside in.
  void ExplainNoGpu(const PluginInfo& plugin) {
    const DriverInfo& driver = info_.driver;
    const SystemInfo& system = info_.system;
    const std::string_view subject = plugin.file.platform();
    const bool no_device = driver.error == kNoDevice || driver.error == kInvalidDevice ||
                           (driver.error == 0 && driver.devices.empty());
    if (!driver.found) {
      const std::string& kept = info_.container_devices;
      if (kept == "void" || kept == "none") {
        return Add(DoctorState::kDevicesKeptOut, subject, kept);
      }
      return Add(DoctorState::kDevicesNoDriver, subject, subject);
    }
    const auto forbidden = std::ranges::find(system.nodes, false, &DeviceNode::usable);
    if (no_device && forbidden != system.nodes.end()) {
      return Add(DoctorState::kDevicesForbidden, subject, forbidden->path, UseCommand(*forbidden));
    }
    if (no_device && info_.visible_devices_set) {
      return Add(DoctorState::kDevicesHidden, subject,
                 info_.visible_devices.empty() ? "(empty)" : info_.visible_devices);
    }
    if (no_device && system.nodes.empty() && !system.kernel_driver.empty()) {
      return Add(DoctorState::kDevicesNoNodes, subject, "/dev/nvidia0");
    }
    if (driver.version > 0 && driver.version / 1000 < plugin.file.cuda_major) {
      return Add(DoctorState::kDevicesDriverTooOld, subject,
                 fmt::format("{}.{}", driver.version / 1000, driver.version % 1000 / 10),
                 plugin.file.cuda_major, Cuda12Command(plugin.file));
    }
    for (const GpuInfo& gpu : driver.devices) {
      if (gpu.capability >= plugin.file.least_capability) continue;
      return Add(DoctorState::kDevicesCapabilityTooLow, subject, gpu.name,
                 DottedCapability(gpu.capability), plugin.file.cuda_major,
                 DottedCapability(plugin.file.least_capability), Cuda12Command(plugin.file));
    }
    Add(DoctorState::kDevicesUnseen, subject, plugin.device_problem);
  }

  static std::string UseCommand(const DeviceNode& node) {
    return node.group.empty() ? fmt::format("sudo chmod a+rw {}", node.path)
                              : fmt::format("sudo usermod -aG {} \"$USER\"", node.group);
  }

  void CheckDriver() {
    const DriverInfo& driver = info_.driver;
    const SystemInfo& system = info_.system;
    constexpr std::string_view kSubject = "libcuda.so.1";
    if (driver.died) return Add(DoctorState::kDriverDies, kSubject, driver.problem);
    if (!driver.found) {
      const bool in_kernel = !system.kernel_driver.empty();
      return Add(in_kernel                   ? DoctorState::kDriverNotInContainer
                 : system.nvidia_devices > 0 ? DoctorState::kDriverAbsent
                                             : DoctorState::kDriverNoGpu,
                 kSubject);
    }
    if (!driver.problem.empty())
      return Add(DoctorState::kDriverUnloadable, kSubject, driver.problem);
    const std::string module =
        system.kernel_driver.empty() ? "" : fmt::format(", driver {}", system.kernel_driver);
    switch (driver.error) {
      case 0:
        break;
      case kStubLibrary:
        return Add(DoctorState::kDriverForLinking, kSubject);
      case kNoDevice:
      case kInvalidDevice:
        return Add(DoctorState::kDriverNoDevice, kSubject);
      case kDriverMismatch:
        return Add(DoctorState::kDriverMismatch, kSubject, module);
      case kIncompatibleDriver:
        return Add(DoctorState::kDriverIncompatible, kSubject);
      default:
        return Add(DoctorState::kDriverFails, kSubject, driver.error, driver.error_name);
    }
    if (driver.devices.empty()) return Add(DoctorState::kDriverNoDevice, kSubject);
    std::string devices;
    for (const GpuInfo& gpu : driver.devices) {
      devices += fmt::format("{}{}, compute capability {}, {} GiB", devices.empty() ? "" : "; ",
                             gpu.name, DottedCapability(gpu.capability), gpu.memory_bytes >> 30);
    }
    if (driver.devices.size() > 1) {
      devices = fmt::format("{} GPUs: {}", driver.devices.size(), devices);
    }
    Add(DoctorState::kDriverReady, kSubject,
        fmt::format("{}.{}", driver.version / 1000, driver.version % 1000 / 10), module, devices);
  }

  void CheckLibraries() {
    for (const DeviceLibraryInfo& library : info_.device_libraries) {
      if (library.problem.empty()) {
        Add(DoctorState::kDeviceLibraryReady, library.name, library.purpose, library.version,
            library.file);
      } else {
        Add(DoctorState::kDeviceLibraryUnused, library.name, library.problem, library.fix);
      }
    }
    const auto gpu = std::ranges::find(
        info_.plugins, Devices::kGpu, [](const PluginInfo& plugin) { return plugin.file.devices; });
    if (gpu == info_.plugins.end()) return;
    for (const auto& [name, path] : {std::pair("ptxas", &info_.toolkit.ptxas),
                                     std::pair("libdevice.10.bc", &info_.toolkit.libdevice)}) {
      path->empty() ? Add(DoctorState::kToolkitMissing, name, InstallCommand(Devices::kGpu))
                    : Add(DoctorState::kToolkitFound, name, *path);
    }
    const std::string python = gpu->file.folder.empty() ? "python3" : PythonOf(gpu->file.folder);
    for (const LibraryInfo& library : info_.libraries) {
      if (!library.path.empty()) {
        Add(DoctorState::kLibraryFound, library.library.soname, library.path);
      } else if (!info_.driver.devices.empty()) {
        Add(DoctorState::kLibraryMissing, library.library.soname,
            std::string(library.library.purpose),
            fmt::format("{} -m pip install --no-deps {}", python, library.library.wheel));
      }
    }
  }

  void CheckPermissions() {
    const SystemInfo& system = info_.system;
    for (const DeviceNode& node : system.nodes) {
      node.usable ? Add(DoctorState::kNodeUsable, node.path)
                  : Add(DoctorState::kNodeForbidden, node.path, UseCommand(node));
    }
    if (system.profiling_for_root_only) {
      Add(*system.profiling_for_root_only && !system.is_root ? DoctorState::kProfilingForbidden
                                                             : DoctorState::kProfilingAllowed,
          "GPU profiling");
    }
    CheckCupti();
    if (system.perf_event_paranoid) {
      constexpr int kOwnProgramsOnly = 2;
      const bool allowed = system.is_root || *system.perf_event_paranoid <= kOwnProgramsOnly;
      Add(allowed ? DoctorState::kPerfAllowed : DoctorState::kPerfForbidden, "CPU profiling",
          *system.perf_event_paranoid);
    }
  }

  void CheckCupti() {
    const CuptiInfo& cupti = info_.cupti;
    constexpr std::string_view kSubject = "CUPTI";
    if (!cupti.asked) return;
    if (cupti.died) return Add(DoctorState::kCuptiDies, kSubject, cupti.problem);
    const auto gpu = std::ranges::find(
        info_.plugins, Devices::kGpu, [](const PluginInfo& plugin) { return plugin.file.devices; });
    const bool has_folder = gpu != info_.plugins.end() && !gpu->file.folder.empty();
    const std::string python = has_folder ? PythonOf(gpu->file.folder) : "python3";
    const bool is_12 =
        gpu != info_.plugins.end() ? gpu->file.cuda_major == 12 : info_.driver.version < 13000;
    const std::string wheel = is_12 ? "nvidia-cuda-cupti-cu12" : "nvidia-cuda-cupti";
    switch (cupti.state) {
      using enum profiler::cupti::CuptiState;
      case kReady:
        Add(DoctorState::kCuptiReady, kSubject, cupti.path, cupti.version);
        CheckMeasuring("GPU counters", DoctorState::kCountersReady, cupti.counters,
                       cupti.counters_problem, cupti.counters_fix);
        return CheckMeasuring("PC sampling", DoctorState::kSamplingReady, cupti.sampling,
                              cupti.sampling_problem, cupti.sampling_fix);
      case kAbsent:
        return Add(DoctorState::kCuptiAbsent, kSubject, python, wheel);
      case kWrongVersion:
        return Add(DoctorState::kCuptiWrongVersion, kSubject, cupti.problem, python, wheel);
      case kOtherProfiler:
        return Add(DoctorState::kCuptiOtherProfiler, kSubject, cupti.problem);
      case kNotPermitted:
        return Add(DoctorState::kCuptiForbidden, kSubject, cupti.problem);
      case kMig:
        return Add(DoctorState::kCuptiMig, kSubject, cupti.problem);
      case kRefused:
        return Add(DoctorState::kCuptiRefused, kSubject, cupti.problem, cupti.fix);
    }
  }

  // What CUPTI can do beside recording.
  void CheckMeasuring(std::string_view subject, DoctorState ready,
                      profiler::cupti::CuptiState state, const std::string& problem,
                      const std::string& fix) {
    switch (state) {
      using enum profiler::cupti::CuptiState;
      case kReady:
        return Add(ready, subject);
      case kNotPermitted:
        return Add(DoctorState::kCountersForbidden, subject, problem);
      default:
        return Add(DoctorState::kCountersRefused, subject, problem, fix);
    }
  }

  void CheckLimits() {
    constexpr int64_t kEnough = int64_t{8} << 30;
    const auto& space = info_.system.address_space_bytes;
    if (space && *space < kEnough) {
      Add(DoctorState::kAddressSpaceShort, "address space", *space >> 20);
    }
    for (const LimitRow& row : LimitRows()) {
      const int64_t value = info_.limits.*row.field;
      value == row.default_value
          ? Add(DoctorState::kLimitDefault, row.name, value, std::string(row.unit))
          : Add(DoctorState::kLimitChanged, row.name, value, std::string(row.unit),
                row.default_value);
    }
  }

  void CheckCache() {
    if (const auto& cache = info_.object_cache; cache.folder.empty()) {
      Add(DoctorState::kNoObjectCache, "compiled modules");
    } else if (!cache.library_without_id.empty()) {
      Add(DoctorState::kNoBuildId, "compiled modules", cache.library_without_id);
    } else {
      Add(DoctorState::kObjectCache, "compiled modules", cache.folder, cache.files,
          cache.bytes >> 20, info_.limits.object_cache_bytes >> 20);
    }
    const auto& choices = info_.choice_cache;
    const bool is_of_use = choices.files > 0 || !info_.device_libraries.empty();
    if (choices.folder.empty() || !is_of_use) return;
    Add(DoctorState::kChoiceCache, "autotune results", choices.folder, choices.files,
        choices.bytes >> 10);
  }

  void CheckEnvironment() {
    if (!info_.has_library_calls) Add(DoctorState::kNoLibraryCalls, "oneDNN");
    for (const VariableInfo& variable : info_.variables) {
      Add(DoctorState::kVariableSet, variable.name, variable.shown, variable.purpose);
    }
  }

  const DoctorInfo& info_;
  std::vector<DoctorFinding> findings_;
};

}  // namespace

std::string_view ToString(DoctorStatus status) {
  constexpr std::string_view kNames[] = {"ok", "note", "missing", "broken"};
  return kNames[static_cast<size_t>(status)];
}

std::span<const DoctorStateRow> DoctorStateRows() { return kRows; }

std::vector<DoctorFinding> Diagnose(const DoctorInfo& info) { return Doctor(info).Diagnose(); }

}  // namespace hloscope::replay
