// Looking for libcupti where CUDA's other libraries are looked for.
#include "core/replay/plugins/cupti_files.h"

#include "core/replay/platform_table.h"
#include "core/replay/plugins/cuda_files.h"

namespace hloscope::replay {

std::vector<std::string> CuptiFiles() {
  PluginFile plugin;
  if (const PlatformRow* const row = PluginPlatform(Devices::kGpu); row != nullptr) {
    if (auto found = ResolvePlugin(row->name, {}); found.has_value()) plugin = *std::move(found);
  }
  const CudaToolkit toolkit = FindCudaToolkit(plugin);
  std::vector<std::string> files;
  for (const int major : {plugin.cuda_major == 12 ? 12 : 13, plugin.cuda_major == 12 ? 13 : 12}) {
    for (const CudaLibrary& library : CudaLibraries(major)) {
      if (!library.soname.starts_with("libcupti.")) continue;
      // Whoever sets LD_LIBRARY_PATH means it.
      const std::string asked = FindCudaLibrary(library, {}, {});
      if (!asked.empty()) files.insert(files.begin(), asked);
      const std::string file = FindCudaLibrary(library, plugin, toolkit);
      if (!file.empty() && file != asked) files.push_back(file);
    }
  }
  return files;
}

}  // namespace hloscope::replay
