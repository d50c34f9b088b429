// Looking in the folders that CUDA's libraries lie in.
#include "core/backends/plugins/library_files.h"

#include <array>

#include "core/backends/plugins/cuda_files.h"
#include "core/replay/platform_table.h"

namespace hloscope::replay {
namespace {

PluginFile GpuPlugin() {
  if (const PlatformRow* const row = PluginPlatform(Devices::kGpu); row != nullptr) {
    if (auto found = ResolvePlugin(row->name, {}); found.has_value()) return *std::move(found);
  }
  return {};
}

std::vector<std::string> FilesBeside(const PluginFile& plugin, std::string_view beginning,
                                     std::span<const int> majors) {
  const CudaToolkit toolkit = FindCudaToolkit(plugin);
  std::vector<std::string> files;
  size_t asked_for = 0;
  for (const int major : majors) {
    for (const CudaLibrary& library : CudaLibraries(major)) {
      if (!library.soname.starts_with(beginning)) continue;
      // Whoever sets LD_LIBRARY_PATH means it.
      const std::string asked = FindCudaLibrary(library, {}, {});
      if (!asked.empty()) files.insert(files.begin() + static_cast<long>(asked_for++), asked);
      const std::string file = FindCudaLibrary(library, plugin, toolkit);
      if (!file.empty() && file != asked) files.push_back(file);
    }
  }
  return files;
}

}  // namespace

std::vector<std::string> CudaLibraryFiles(std::string_view beginning, std::span<const int> majors) {
  return FilesBeside(GpuPlugin(), beginning, majors);
}

std::vector<std::string> CuptiFiles(int driver) {
  const PluginFile plugin = GpuPlugin();
  const bool is_12 = driver > 0 ? driver < 13000 : plugin.cuda_major == 12;
  return FilesBeside(plugin, "libcupti.", std::array{is_12 ? 12 : 13, is_12 ? 13 : 12});
}

}  // namespace hloscope::replay
