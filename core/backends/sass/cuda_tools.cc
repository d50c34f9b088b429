// Folders in order, the first that has the file.
#include "core/backends/sass/cuda_tools.h"

#include "core/backends/plugins/python_environments.h"

namespace hloscope::replay {
namespace {

// Below a folder of packages: where wheels put programs.
constexpr const char* kWheelFolders[] = {
    "nvidia/cu13/bin",           "nvidia/cuda_nvcc/bin",       "nvidia/cuda_nvdisasm/bin",
    "nvidia/cuda_cuobjdump/bin", "triton/backends/nvidia/bin",
};

std::vector<std::string> ToolFolders() {
  std::vector<std::string> folders;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string_view home = EnvironmentVariable(name); !home.empty())
      folders.push_back(std::string(home) + "/bin");
  }
  for (std::string& folder : SplitPathList(EnvironmentVariable("PATH")))
    folders.push_back(std::move(folder));
  std::vector<PythonEnvironment> environments = ActivePythonEnvironments();
  if (const std::string own = PrivatePluginEnvironment(); !own.empty())
    environments.push_back(ReadPythonEnvironment("", own));
  for (const PythonEnvironment& environment : environments) {
    for (const std::string& packages : environment.folders) {
      for (const char* wheel : kWheelFolders) folders.push_back(packages + "/" + wheel);
    }
  }
  folders.emplace_back("/usr/local/cuda/bin");
  return folders;
}

}  // namespace

CudaTools FindCudaTools() {
  CudaTools tools;
  tools.searched = ToolFolders();
  tools.ptxas = ProgramIn(tools.searched, "ptxas");
  tools.nvdisasm = ProgramIn(tools.searched, "nvdisasm");
  tools.cuobjdump = ProgramIn(tools.searched, "cuobjdump");
  return tools;
}

}  // namespace hloscope::replay
