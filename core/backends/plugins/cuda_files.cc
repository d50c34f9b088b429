// Finding CUDA's assembler, device library and shared libraries.
#include "core/backends/plugins/cuda_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/backends/plugins/file_kinds.h"
#include "core/backends/plugins/python_environments.h"

namespace hloscope::replay {
namespace {

namespace fs = std::filesystem;

constexpr CudaLibrary kLibraries[] = {
#define CUDA_LIBRARY(major, soname, folder, wheel, purpose) {soname, folder, wheel, purpose, major},
#include "core/backends/plugins/cuda_libraries.def"
#undef CUDA_LIBRARY
};

// Folders that may hold a toolkit; those beside the plugin come first.
std::vector<std::string> ToolkitFolders(const PluginFile& plugin, size_t& beside_plugin) {
  std::vector<std::string> folders;
  const std::string& packages = plugin.folder;
  if (!packages.empty()) {
    folders.push_back(packages + "/nvidia/cu13");
    folders.push_back(packages + "/nvidia/cuda_nvcc");
  }
  beside_plugin = folders.size();
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (!EnvironmentVariable(name).empty()) folders.emplace_back(EnvironmentVariable(name));
  }
  for (const std::string& bin : SplitPathList(EnvironmentVariable("PATH"))) {
    if (IsFile(fs::path(bin) / "ptxas")) folders.push_back(fs::path(bin).parent_path().string());
  }
  if (plugin.cuda_major > 0)
    folders.push_back(fmt::format("/usr/local/cuda-{}", plugin.cuda_major));
  folders.emplace_back("/usr/local/cuda");
  return folders;
}

}  // namespace

CudaToolkit FindCudaToolkit(const PluginFile& plugin) {
  CudaToolkit toolkit;
  size_t beside = 0;
  toolkit.searched = ToolkitFolders(plugin, beside);
  for (size_t i = 0; i < toolkit.searched.size(); ++i) {
    const fs::path folder = toolkit.searched[i];
    const fs::path ptxas = folder / "bin/ptxas",
                   libdevice = folder / "nvvm/libdevice/libdevice.10.bc";
    if (toolkit.ptxas.empty() && IsFile(ptxas)) toolkit.ptxas = ptxas.string();
    if (toolkit.libdevice.empty() && IsFile(libdevice)) toolkit.libdevice = libdevice.string();
    if (!IsFile(ptxas) || !IsFile(libdevice)) continue;
    toolkit.folder = folder.string();
    toolkit.ptxas = ptxas.string();
    toolkit.libdevice = libdevice.string();
    toolkit.beside_plugin = i < beside;
    break;
  }
  return toolkit;
}

std::vector<CudaLibrary> CudaLibraries(int cuda_major) {
  std::vector<CudaLibrary> libraries;
  std::ranges::copy_if(kLibraries, std::back_inserter(libraries), [&](const CudaLibrary& library) {
    return library.cuda_major == cuda_major;
  });
  return libraries;
}

std::string FindCudaLibrary(const CudaLibrary& library, const PluginFile& plugin,
                            const CudaToolkit& toolkit) {
  std::vector<std::string> folders;
  if (!plugin.folder.empty()) {
    folders.push_back(fmt::format("{}/{}", plugin.folder, library.wheel_folder));
  }
  for (std::string& folder : SplitPathList(EnvironmentVariable("LD_LIBRARY_PATH"))) {
    folders.push_back(std::move(folder));
  }
  if (!toolkit.folder.empty()) {
    folders.push_back(toolkit.folder + "/lib64");
    folders.push_back(toolkit.folder + "/lib");
  }
  for (const std::string& folder : folders) {
    std::string file = fmt::format("{}/{}", folder, library.soname);
    if (IsFile(file)) return file;
  }
  return {};
}

bool CudaDriverIsThere() {
  std::error_code error;
  for (const char* const device : {"/dev/nvidiactl", "/dev/nvhost-ctrl", "/dev/dxg"}) {
    if (fs::exists(device, error)) return true;
  }
  const char* const variable = std::getenv("LD_LIBRARY_PATH");
  std::string_view folders = variable == nullptr ? "" : variable;
  while (!folders.empty()) {
    const size_t end = std::min(folders.find(':'), folders.size());
    if (fs::exists(fs::path(folders.substr(0, end)) / "libcuda.so.1", error)) return true;
    folders.remove_prefix(std::min(end + 1, folders.size()));
  }
  return false;
}

}  // namespace hloscope::replay
