// Gathering all that `hloscope doctor` judges.
#include "core/backends/doctor/doctor_info.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/backends/compiled/codegen_entry.h"
#include "core/backends/libraries/autotune_cache.h"
#include "core/backends/plugins/python_environments.h"
#include "core/base/disk_cache.h"
#include "core/base/own_library.h"
#include "core/replay/run_options.h"

namespace hloscope::replay {
namespace {

void FindJaxlib(DoctorInfo& info) {
  for (const SearchedPlace& place : info.findings.places) {
    for (const std::string& folder : place.folders) {
      info.jaxlib_version = JaxlibVersionIn(folder);
      info.jaxlib_folder = folder;
      if (!info.jaxlib_version.empty()) return;
    }
  }
}

// Where the system's loader found it for our own compiler, as it does for a plugin.
std::string FoundByLoader(const CudaLibrary& library,
                          const std::vector<DeviceLibraryInfo>& opened) {
  const auto found = std::ranges::find_if(opened, [&](const DeviceLibraryInfo& each) {
    return std::filesystem::path(each.file).filename() == library.soname;
  });
  return found == opened.end() ? std::string() : found->file;
}

// A library that was linked wrongly ends the process at the first exception.
std::vector<OwnLibraryInfo> LoadOwnLibraries() {
  std::vector<OwnLibraryInfo> libraries;
  for (const char* const name : {kCodegenLibrary, kCallsLibrary, "viewer"}) {
    if (!HasOwnLibrary(name)) continue;
    const Result<void*> found = FindInOwnLibrary(name, kCatchesExceptions, {});
    OwnLibraryInfo& info = libraries.emplace_back(fmt::format("libhloscope_{}.so", name));
    if (!found) {
      info.error = found.error().message;
    } else if (!reinterpret_cast<bool (*)()>(*found)()) {
      info.error = "does not catch its own exceptions";
    }
  }
  return libraries;
}

std::string LibraryWithoutId() {
  for (const char* const name : {kCodegenLibrary, kCallsLibrary}) {
    if (HasOwnLibrary(name) && BuildIdOfOwnLibrary(name).empty())
      return fmt::format("libhloscope_{}.so", name);
  }
  return {};
}

}  // namespace

DoctorInfo GatherDoctorInfo(const PluginSearch& search, const Limits& limits) {
  DoctorInfo info;
  info.limits = limits;
  info.own_libraries = LoadOwnLibraries();
  info.findings = FindPlugins(search);
  FindJaxlib(info);
  info.jaxlibs = FindJaxlibs(search);
  info.frameworks = FindFrameworks(info.findings);
  for (const PluginFile& file : info.findings.plugins) info.plugins.push_back(QueryPlugin(file));
  info.driver = QueryDriver();
  if (info.driver.error == 0 && !info.driver.devices.empty()) {
    info.cupti = QueryCupti();
    info.device_libraries = QueryLibraries(info.driver.version);
  }
  info.system = ReadSystemInfo("");
  const auto gpu = std::ranges::find(info.findings.plugins, Devices::kGpu, &PluginFile::devices);
  if (gpu != info.findings.plugins.end()) {
    info.toolkit = FindCudaToolkit(*gpu);
    for (const CudaLibrary& library : CudaLibraries(gpu->cuda_major)) {
      std::string file = FindCudaLibrary(library, *gpu, info.toolkit);
      if (file.empty()) file = FoundByLoader(library, info.device_libraries);
      info.libraries.push_back({library, std::move(file)});
    }
  }
  info.visible_devices_set = std::getenv("CUDA_VISIBLE_DEVICES") != nullptr;
  info.visible_devices = EnvironmentVariable("CUDA_VISIBLE_DEVICES");
  info.container_devices = EnvironmentVariable("NVIDIA_VISIBLE_DEVICES");
  info.variables = ReadVariables();
  const DiskCache cache(DiskCache::FolderOfUser(kObjectCacheFolder), limits.object_cache_bytes);
  const DiskCache::Use use = cache.Used();
  info.has_library_calls = HasLibraryCalls();
  info.object_cache = {cache.folder(), use.files, use.bytes, LibraryWithoutId()};
  const libraries::AutotuneCache choices;
  const DiskCache::Use kept = choices.files().Used();
  info.choice_cache = {choices.files().folder(), kept.files, kept.bytes, {}};
  return info;
}

}  // namespace hloscope::replay
