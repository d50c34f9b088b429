// Python environments, read from the disk without running Python: where their packages lie.
#pragma once

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

}  // namespace hloscope::replay
