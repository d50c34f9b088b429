// Gathering all that `hloscope doctor` judges.
#include "core/replay/doctor/doctor_facts.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/replay/plugins/python_environments.h"

namespace hloscope::replay {
namespace {

namespace fs = std::filesystem;

// jaxlib-0.10.2.dist-info says which jaxlib is in a folder of packages.
void FindJaxlib(DoctorFacts& facts) {
  constexpr std::string_view kStart = "jaxlib-", kEnd = ".dist-info";
  for (const SearchedPlace& place : facts.findings.places) {
    for (const std::string& folder : place.folders) {
      std::error_code error;
      for (fs::directory_iterator it(folder, error), end; !error && it != end;
           it.increment(error)) {
        const std::string name = it->path().filename().string();
        if (!name.starts_with(kStart) || !name.ends_with(kEnd)) continue;
        facts.jaxlib_version =
            name.substr(kStart.size(), name.size() - kStart.size() - kEnd.size());
        facts.jaxlib_folder = folder;
        return;
      }
    }
  }
}

}  // namespace

DoctorFacts GatherDoctorFacts(const PluginSearch& search, const Limits& limits) {
  DoctorFacts facts;
  facts.limits = limits;
  facts.findings = FindPlugins(search);
  FindJaxlib(facts);
  for (const PluginFile& file : facts.findings.plugins) facts.plugins.push_back(AskPlugin(file));
  facts.driver = AskDriver();
  facts.system = ReadSystemFacts("");
  const auto gpu = std::ranges::find(facts.findings.plugins, "xla-gpu", &PluginFile::platform);
  if (gpu != facts.findings.plugins.end()) {
    facts.toolkit = FindCudaToolkit(*gpu);
    for (const CudaLibrary& library : CudaLibraries(gpu->cuda_major)) {
      facts.libraries.push_back({library, FindCudaLibrary(library, *gpu, facts.toolkit)});
    }
  }
  facts.visible_devices_set = std::getenv("CUDA_VISIBLE_DEVICES") != nullptr;
  facts.visible_devices = EnvironmentVariable("CUDA_VISIBLE_DEVICES");
  facts.container_devices = EnvironmentVariable("NVIDIA_VISIBLE_DEVICES");
  facts.variables = ReadVariables();
  return facts;
}

}  // namespace hloscope::replay
