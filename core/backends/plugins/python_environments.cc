// Reading Python environments: pyvenv.cfg (PEP 405), lib/pythonX.Y/site-packages and Debian's
// dist-packages, the user's own packages (PEP 370), conda's and pyenv's layout.
#include "core/backends/plugins/python_environments.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include "core/backends/plugins/file_kinds.h"
#include "core/base/strings.h"

namespace hloscope::replay {
namespace {

namespace fs = std::filesystem;

constexpr size_t kSmallFile = 1 << 16;  // pyvenv.cfg and version files are far smaller

std::string ReadSmallFile(const fs::path& path) { return ReadStart(path.string(), kSmallFile); }

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

std::string_view FirstLine(std::string_view text) { return Trim(text.substr(0, text.find('\n'))); }

// The lines `key = value` of pyvenv.cfg.
std::map<std::string, std::string, std::less<>> ReadSettings(const fs::path& path) {
  std::map<std::string, std::string, std::less<>> settings;
  const std::string text = ReadSmallFile(path);
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size() - 1);
    const std::string_view line = rest.substr(0, end + 1);
    rest.remove_prefix(end + 1);
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    settings.emplace(Trim(line.substr(0, equals)), Trim(line.substr(equals + 1)));
  }
  return settings;
}

// 3.9 before 3.10; -1 for what is no "pythonX.Y".
int MinorVersion(std::string_view name) {
  constexpr std::string_view kPrefix = "python3.";
  int minor = -1;
  if (name.starts_with(kPrefix)) {
    name.remove_prefix(kPrefix.size());
    std::from_chars(name.data(), name.data() + name.size(), minor);
  }
  return minor;
}

void AddFolder(const fs::path& folder, std::vector<std::string>& out) {
  if (!IsFolder(folder)) return;
  std::error_code error;
  const fs::path resolved = fs::canonical(folder, error);
  std::string text = error ? folder.string() : resolved.string();
  if (std::ranges::find(out, text) == out.end()) out.push_back(std::move(text));
}

// The package folders below `prefix` of Python `version` ("python3.11"; empty: every one, newest
// first).
void AddPackageFolders(const fs::path& prefix, std::string_view version,
                       std::vector<std::string>& out) {
  for (const char* lib : {"lib", "lib64", "local/lib"}) {
    std::vector<std::string> versions;
    std::error_code error;
    for (fs::directory_iterator it(prefix / lib, error), end; !error && it != end;
         it.increment(error)) {
      std::string name = it->path().filename().string();
      if (MinorVersion(name) >= 0 && (version.empty() || name == version)) versions.push_back(name);
    }
    std::ranges::sort(versions, std::greater<>(), MinorVersion);
    for (const std::string& name : versions) {
      AddFolder(prefix / lib / name / "site-packages", out);
      AddFolder(prefix / lib / name / "dist-packages", out);
    }
    AddFolder(prefix / lib / "python3" / "dist-packages", out);
  }
}

// The newest version below a pyenv root that `wanted` ("3.11" or "3.11.7") names.
std::optional<fs::path> PyenvPrefix(const fs::path& root, std::string_view wanted) {
  wanted = wanted.substr(0, wanted.find(':'));
  if (wanted.empty() || wanted == "system") return std::nullopt;
  if (IsFolder(root / "versions" / wanted)) return root / "versions" / wanted;
  std::optional<fs::path> best;
  const std::string start = std::string(wanted) + '.';
  std::error_code error;
  for (fs::directory_iterator it(root / "versions", error), end; !error && it != end;
       it.increment(error)) {
    if (!it->path().filename().string().starts_with(start)) continue;
    if (!best || best->filename() < it->path().filename()) best = it->path();
  }
  return best;
}

// Which Python a shim of pyenv stands for: PYENV_VERSION, .python-version here or above, or the
// global version.
std::optional<fs::path> BehindPyenvShim(const fs::path& root) {
  std::string wanted(EnvironmentVariable("PYENV_VERSION"));
  std::error_code error;
  for (fs::path at = fs::current_path(error); wanted.empty() && !error; at = at.parent_path()) {
    wanted = FirstLine(ReadSmallFile(at / ".python-version"));
    if (at == at.parent_path()) break;
  }
  if (wanted.empty()) wanted = FirstLine(ReadSmallFile(root / "version"));
  return PyenvPrefix(root, wanted);
}

// Adds the folders of the environment at `prefix`; `depth` bounds how often one may lie on another.
void AddPrefix(const fs::path& prefix, std::string_view version, int depth,
               std::vector<std::string>& out) {
  AddPackageFolders(prefix, version, out);
  const auto settings = ReadSettings(prefix / "pyvenv.cfg");
  const auto system = settings.find("include-system-site-packages");
  const auto home = settings.find("home");
  if (depth > 0 && system != settings.end() && system->second == "true" && home != settings.end()) {
    AddPrefix(fs::path(home->second).parent_path(), version, depth - 1, out);
  }
}

// Packages of the user's own count for every interpreter outside an environment.
void AddUserPackages(std::string_view version, std::vector<std::string>& out) {
  std::string base(EnvironmentVariable("PYTHONUSERBASE"));
  if (base.empty() && !EnvironmentVariable("HOME").empty()) {
    base = std::string(EnvironmentVariable("HOME")) + "/.local";
  }
  if (!base.empty()) AddPackageFolders(base, version, out);
}

void ReadInterpreter(const fs::path& interpreter, PythonEnvironment& environment) {
  const fs::path folder = interpreter.parent_path();
  if (fs::path prefix = folder.parent_path(); !ReadSmallFile(prefix / "pyvenv.cfg").empty()) {
    return AddPrefix(prefix, {}, 1, environment.folders);
  }
  if (folder.filename() == "shims" && IsFolder(folder.parent_path() / "versions")) {
    const std::optional<fs::path> prefix = BehindPyenvShim(folder.parent_path());
    if (prefix) return AddPrefix(*prefix, {}, 1, environment.folders);
    environment.problem = "is a pyenv shim for a Python that is not installed there";
    return;
  }
  // What `python3` links to carries the version in its name and lies in the prefix.
  std::error_code error;
  const fs::path real = fs::canonical(interpreter, error);
  if (error) {
    environment.problem = error.message();
    return;
  }
  const std::string name = real.filename().string();
  const std::string version = MinorVersion(name) >= 0 ? name : std::string();
  AddUserPackages(version, environment.folders);
  AddPrefix(real.parent_path().parent_path(), version, 1, environment.folders);
  if (folder.parent_path() != real.parent_path().parent_path()) {
    AddPrefix(folder.parent_path(), version, 1, environment.folders);
  }
}

std::string FindOnPath(std::string_view program) {
  return ProgramIn(SplitPathList(EnvironmentVariable("PATH")), program);
}

}  // namespace

bool IsExecutable(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

std::string ProgramIn(const std::vector<std::string>& folders, std::string_view name) {
  for (const std::string& folder : folders) {
    std::string path = folder + '/' + std::string(name);
    if (IsExecutable(path)) return path;
  }
  return {};
}

std::string ReadStart(const std::string& path, size_t most) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return {};
  std::ifstream file(path, std::ios::binary);
  std::string text(most, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

std::string_view EnvironmentVariable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

std::vector<std::string> SplitPathList(std::string_view text) {
  std::vector<std::string> parts;
  for (const std::string_view part : StrSplit(text, ':')) {
    if (!part.empty()) parts.emplace_back(part);
  }
  return parts;
}

PythonEnvironment ReadPythonEnvironment(std::string origin, std::string path) {
  if (path.find('/') == std::string::npos && !IsFolder(path)) {
    const std::string found = FindOnPath(path);
    if (!found.empty()) path = found;
  }
  PythonEnvironment environment{std::move(origin), std::move(path), {}, {}};
  std::error_code error;
  const fs::file_status status = fs::status(environment.path, error);
  if (!fs::exists(status)) {
    environment.problem = "no such file or folder";
  } else if (!fs::is_directory(status)) {
    ReadInterpreter(environment.path, environment);
  } else {
    AddPrefix(environment.path, {}, 1, environment.folders);
    if (environment.folders.empty()) AddFolder(environment.path, environment.folders);
  }
  if (environment.folders.empty() && environment.problem.empty()) {
    environment.problem = "no lib/python3.X/site-packages below it";
  }
  return environment;
}

std::vector<PythonEnvironment> ActivePythonEnvironments() {
  std::vector<PythonEnvironment> found;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const std::string_view prefix = EnvironmentVariable(name);
    if (!prefix.empty()) found.push_back(ReadPythonEnvironment(name, std::string(prefix)));
  }
  for (std::string& folder : SplitPathList(EnvironmentVariable("PYTHONPATH"))) {
    found.push_back(ReadPythonEnvironment("PYTHONPATH", std::move(folder)));
  }
  std::string python = FindOnPath("python3");
  if (!python.empty()) {
    found.push_back(ReadPythonEnvironment("python3 on PATH", std::move(python)));
  }
  return found;
}

std::string PrivatePluginEnvironment() {
  std::string base(EnvironmentVariable("XDG_DATA_HOME"));
  if (base.empty() && !EnvironmentVariable("HOME").empty()) {
    base = std::string(EnvironmentVariable("HOME")) + "/.local/share";
  }
  return base.empty() ? base : base + "/hloscope/plugins";
}

}  // namespace hloscope::replay
