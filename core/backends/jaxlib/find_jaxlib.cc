// Reading which jaxlib is installed where, by the names of dist-info folders.
#include "core/backends/jaxlib/find_jaxlib.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/backends/plugins/python_environments.h"

namespace hloscope::replay {
namespace {

namespace fs = std::filesystem;

bool IsFolder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// The interpreter that reads the packages of `folder`: that of the environment it lies in, where
// the environment was named by a folder.
std::string InterpreterOf(const std::string& path, const std::string& folder) {
  if (!IsFolder(path)) return path;
  const fs::path lib = fs::path(folder).parent_path().parent_path();  // PREFIX/lib/pythonX.Y/…
  for (const fs::path& prefix : {fs::path(path), lib.parent_path()}) {
    for (const char* name : {"bin/python3", "bin/python"}) {
      std::error_code error;
      if (fs::exists(prefix / name, error)) return (prefix / name).string();
    }
  }
  return {};
}

std::vector<PythonEnvironment> Environments(const PluginSearch& search) {
  const std::string named = NamedPython(search);
  if (named.empty()) return ActivePythonEnvironments();
  return {ReadPythonEnvironment("--python", named)};
}

}  // namespace

// jaxlib-0.10.2.dist-info says which jaxlib is in a folder of packages; empty: none.
std::string JaxlibVersionIn(const std::string& folder) {
  constexpr std::string_view kStart = "jaxlib-", kEnd = ".dist-info";
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(kStart) || !name.ends_with(kEnd)) continue;
    return name.substr(kStart.size(), name.size() - kStart.size() - kEnd.size());
  }
  return {};
}

std::vector<JaxlibPlace> FindJaxlibs(const PluginSearch& search) {
  std::vector<JaxlibPlace> found;
  for (const PythonEnvironment& environment : Environments(search)) {
    for (const std::string& folder : environment.folders) {
      const std::string version = JaxlibVersionIn(folder);
      if (version.empty()) continue;
      const std::string python = InterpreterOf(environment.path, folder);
      if (!python.empty()) found.push_back({python, version, folder, environment.origin});
      break;  // the first folder hides those behind it
    }
  }
  return found;
}

Result<JaxlibPlace> ResolveJaxlib(const PluginSearch& search) {
  std::vector<JaxlibPlace> found = FindJaxlibs(search);
  if (!found.empty()) return std::move(found.front());
  std::string places, interpreter = "python3";
  for (const PythonEnvironment& environment : Environments(search)) {
    std::error_code error;
    const bool is_program = fs::is_regular_file(environment.path, error);
    if (is_program && !NamedPython(search).empty())
      return JaxlibPlace{environment.path, {}, {}, environment.origin};
    places +=
        fmt::format("{}{} {}: {}", places.empty() ? "" : ", ", environment.origin, environment.path,
                    environment.problem.empty() ? "no jaxlib" : environment.problem);
    interpreter = IsFolder(environment.path) ? environment.path + "/bin/python3" : environment.path;
  }
  return EnvironmentError(fmt::format("no jaxlib found; searched {}",
                                      places.empty() ? "nowhere: there is no Python" : places),
                          fmt::format("`{} -m pip install jaxlib` installs one, --python PATH "
                                      "names another Python",
                                      interpreter));
}

}  // namespace hloscope::replay
