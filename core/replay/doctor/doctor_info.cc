// Gathering all that `hloscope doctor` judges.
#include "core/replay/doctor/doctor_info.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/replay/plugins/python_environments.h"

namespace hloscope::replay {
namespace {

namespace fs = std::filesystem;

// jaxlib-0.10.2.dist-info says which jaxlib is in a folder of packages.
void FindJaxlib(DoctorInfo& info) {
  constexpr std::string_view kStart = "jaxlib-", kEnd = ".dist-info";
  for (const SearchedPlace& place : info.findings.places) {
    for (const std::string& folder : place.folders) {
      std::error_code error;
      for (fs::directory_iterator it(folder, error), end; !error && it != end;
           it.increment(error)) {
        const std::string name = it->path().filename().string();
        if (!name.starts_with(kStart) || !name.ends_with(kEnd)) continue;
        info.jaxlib_version = name.substr(kStart.size(), name.size() - kStart.size() - kEnd.size());
        info.jaxlib_folder = folder;
        return;
      }
    }
  }
}

}  // namespace

DoctorInfo GatherDoctorInfo(const PluginSearch& search, const Limits& limits) {
  DoctorInfo info;
  info.limits = limits;
  info.findings = FindPlugins(search);
  FindJaxlib(info);
  for (const PluginFile& file : info.findings.plugins) info.plugins.push_back(QueryPlugin(file));
  info.driver = QueryDriver();
  info.system = ReadSystemInfo("");
  const auto gpu = std::ranges::find(info.findings.plugins, Devices::kGpu, &PluginFile::devices);
  if (gpu != info.findings.plugins.end()) {
    info.toolkit = FindCudaToolkit(*gpu);
    for (const CudaLibrary& library : CudaLibraries(gpu->cuda_major)) {
      info.libraries.push_back({library, FindCudaLibrary(library, *gpu, info.toolkit)});
    }
  }
  info.visible_devices_set = std::getenv("CUDA_VISIBLE_DEVICES") != nullptr;
  info.visible_devices = EnvironmentVariable("CUDA_VISIBLE_DEVICES");
  info.container_devices = EnvironmentVariable("NVIDIA_VISIBLE_DEVICES");
  info.variables = ReadVariables();
  return info;
}

}  // namespace hloscope::replay
