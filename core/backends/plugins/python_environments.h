// Python environments, read from the disk without running Python: where their packages lie.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hloscope::replay {

struct PythonEnvironment {
  std::string origin;  // what named it: "--python", "VIRTUAL_ENV", "python3 on PATH", …
  std::string path;    // the interpreter or folder that was named
  std::vector<std::string> folders;  // of packages, in the order Python searches them
  std::string problem;               // why there is none, where `folders` is empty
};

// The environment of `path`: an interpreter, the prefix of an environment or a folder of packages.
// Reads pyvenv.cfg and the layout of lib/pythonX.Y, and sees through pyenv's shims.
PythonEnvironment ReadPythonEnvironment(std::string origin, std::string path);

// VIRTUAL_ENV, CONDA_PREFIX, PYTHONPATH and python3 on PATH: those there are, in that order.
std::vector<PythonEnvironment> ActivePythonEnvironments();

// Where `scripts/setup --plugins` installs: hloscope/plugins below XDG_DATA_HOME or
// ~/.local/share; empty where there is no home.
std::string PrivatePluginEnvironment();

// The environment variable `name`, or nothing.
std::string_view EnvironmentVariable(const char* name);

// The parts of a list separated by colons, without empty ones.
std::vector<std::string> SplitPathList(std::string_view text);

// True for a file that this user may run.
bool IsExecutable(const std::string& path);
// The first executable of that name in the folders; empty: there is none.
std::string ProgramIn(const std::vector<std::string>& folders, std::string_view name);
// The first bytes of a file, `most` at most; empty where it cannot be read or is no file.
std::string ReadStart(const std::string& path, size_t most);

}  // namespace hloscope::replay
