// The interpreter is the command's own: python itself, or the one of a script's first line.
#include "core/debug/record/recorded_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "core/backends/plugins/python_environments.h"
#include "core/base/child_process.h"
#include "core/base/parse_json.h"

namespace hloscope::debug {
namespace {

namespace fs = std::filesystem;

struct FrameworkRow {
  std::string_view name, option, distributions, imports;
};
// Distributions and imports by preference, with blanks between.
constexpr std::array<FrameworkRow, 3> kFrameworks = {
    {{"JAX", "jax", "jax", "jax flax optax haiku equinox numpyro orbax"},
     {"TensorFlow", "tensorflow",
      "tensorflow tensorflow-cpu tensorflow-intel tf-nightly tf-nightly-cpu", "tensorflow"},
     {"PyTorch/XLA", "pytorch", "torch_xla torch-xla", "torch_xla"}}};

// Prints packages and large libraries as JSON. The current folder must hide no module of Python's.
constexpr const char* kQuestion = R"(import sys
here = [p for p in sys.path if p not in ('', '.')]
sys.path[:] = here
import importlib.metadata as m, json, os
names = ('jax jaxlib jax-cuda12-plugin jax-cuda13-plugin jax-cuda12-pjrt jax-cuda13-pjrt tensorflow '
         'tensorflow-cpu tensorflow-intel tf-nightly tf-nightly-cpu torch torch_xla keras '
         'tf_keras flax numpy libtpu').split()
found = {}
for n in names:
    try: version = m.version(n)
    except Exception: continue
    if isinstance(version, str): found[n] = version
files = []
for p in here:
    for d in ('jaxlib', 'jax_plugins', 'tensorflow', 'torch_xla', 'libtpu'):
        for root, _, fs in os.walk(os.path.join(p, d)):
            files += [os.path.join(root, f) for f in fs if '.so' in f]
    try: files += [os.path.join(p, f) for f in os.listdir(p) if f.startswith('_XLAC')]
    except OSError: pass
def size(f):
    try: return os.path.getsize(f)
    except OSError: return 0
files = [f for f in files if size(f) > 20000000]
print('\n' + json.dumps({'packages': found, 'files': files, 'version': sys.version.split()[0]}))
)";

std::string InPath(const std::string& name, const Environment& environment) {
  if (name.find('/') != std::string::npos) return replay::IsExecutable(name) ? name : std::string();
  const char* path = ValueOf(environment, "PATH");
  std::istringstream list(path == nullptr ? "/usr/bin:/bin" : path);
  std::vector<std::string> folders;
  for (std::string folder; std::getline(list, folder, ':');) {
    folders.push_back(folder.empty() ? "." : folder);
  }
  return replay::ProgramIn(folders, name);
}

bool IsPython(const std::string& program) {
  return fs::path(program).filename().string().starts_with("python");
}

constexpr size_t kMaxScript = 4 << 20;
constexpr std::chrono::seconds kMaxQuestionTime{60};  // of an environment on a slow file system

// The interpreter of `#!/a/python` and `#!/usr/bin/env python3`.
std::string OfFirstLine(const std::string& text, const Environment& environment) {
  if (!text.starts_with("#!")) return {};
  std::vector<std::string> words = WordsOf(text.substr(2, text.find('\n') - 2));
  if (words.size() > 1 && fs::path(words[0]).filename() == "env") words.erase(words.begin());
  if (words.empty() || !IsPython(words[0])) return {};
  return InPath(words[0], environment);
}

void FindScript(const std::vector<std::string>& command, RecordedProgram& found) {
  for (size_t k = 1; k < command.size(); ++k) {
    if (command[k] == "-c" && k + 1 < command.size()) {
      found.script = command[k + 1];
      return;
    }
    if (command[k] == "-m") return;  // the module is not looked for
    if ((command[k] == "-W" || command[k] == "-X")) {
      ++k;
      continue;
    }
    if (command[k].starts_with('-')) continue;
    found.script_path = command[k];
    found.script = replay::ReadStart(command[k], kMaxScript);
    return;
  }
}

void FindPython(const std::vector<std::string>& command, const Environment& environment,
                RecordedProgram& found) {
  if (IsPython(found.program)) {
    found.python = found.program;
    FindScript(command, found);
    return;
  }
  const std::string text = replay::ReadStart(found.program, kMaxScript);
  found.python = OfFirstLine(text, environment);
  if (!found.python.empty()) {
    found.script = text;
    found.script_path = found.program;
    return;
  }
  // `nice -n 5 python a.py`, `env A=b python -m m`, `mpirun -n 2 /a/python a.py`.
  for (size_t k = 1; k < command.size(); ++k) {
    if (!IsPython(command[k]) || InPath(command[k], environment).empty()) continue;
    found.python = InPath(command[k], environment);
    FindScript({command.begin() + static_cast<std::ptrdiff_t>(k), command.end()}, found);
    return;
  }
  // A launcher or a shell script most likely runs the environment's own.
  for (const char* name : {"python3", "python"}) {
    if (found.python.empty()) found.python = InPath(name, environment);
  }
}

// False if the output has no answer in it. It comes from a Python of the user's: what is no string
// is passed over.
bool ReadAnswer(const std::string& output, RecordedProgram& found) {
  const size_t line = output.rfind("\n{");
  if (line == std::string::npos) return false;
  const auto json = ParseJson(output.substr(line, output.find('\n', line + 1) - line));
  if (!json || !json->is_object()) return false;
  const auto add = [](const nlohmann::json& value, const auto& take) {
    if (const auto* text = value.get_ptr<const std::string*>()) take(*text);
  };
  const nlohmann::json none = nlohmann::json::object();
  const nlohmann::json packages = json->value("packages", none), files = json->value("files", none);
  add(json->value("version", none),
      [&](const std::string& version) { found.packages["python"] = version; });
  for (const auto& [name, value] : packages.items())
    add(value, [&](const std::string& version) { found.packages[name] = version; });
  for (const auto& file : files)
    add(file, [&](const std::string& path) { found.libraries.push_back(path); });
  return true;
}

void AskPython(const Environment& environment, RecordedProgram& found) {
  if (found.python.empty()) return;
  ChildOptions options{.program = found.python,
                       .arguments = {found.python, "-c", kQuestion},
                       .environment = environment,
                       .descriptors = {}};
  auto child = ChildProcess::Spawn(options);
  if (!child) {
    found.warnings.push_back(child.error().ToString());
    return;
  }
  const std::string output =
      child->ReadAll({}, std::chrono::steady_clock::now() + kMaxQuestionTime);
  if (child->passed_deadline()) {
    found.warnings.push_back(fmt::format("{}: did not list its packages within {} s", found.python,
                                         kMaxQuestionTime.count()));
    return;
  }
  if (!ReadAnswer(output, found))
    found.warnings.push_back(found.python + ": did not list its packages");
}

bool Imports(const std::string& script, const std::string& package) {
  for (const char* form : {"import ", "from "}) {
    const std::string words = form + package;
    for (size_t at = script.find(words); at != std::string::npos; at = script.find(words, at + 1)) {
      const char next = at + words.size() < script.size() ? script[at + words.size()] : '\n';
      if (std::isalnum(static_cast<unsigned char>(next)) == 0 && next != '_') return true;
    }
  }
  return false;
}

std::string VersionOf(const FrameworkRow& row, const RecordedProgram& found) {
  for (const std::string& name : WordsOf(row.distributions)) {
    const auto at = found.packages.find(name);
    if (at != found.packages.end()) return at->second;
  }
  return {};
}

void ChooseFrameworks(const std::string& wanted, RecordedProgram& found) {
  std::vector<RecordedFramework> installed;
  for (const FrameworkRow& row : kFrameworks) {
    const std::string version = VersionOf(row, found);
    if (row.option == wanted) {
      found.frameworks = {{std::string(row.name), version}};
      if (version.empty())
        found.warnings.push_back(fmt::format("{}: no {} is installed there, according to it",
                                             found.python.empty() ? "no Python" : found.python,
                                             row.name));
      return;
    }
    if (version.empty()) continue;
    installed.push_back({std::string(row.name), version});
    for (const std::string& package : WordsOf(row.imports)) {
      if (!Imports(found.script, package)) continue;
      found.frameworks.push_back(installed.back());
      break;
    }
  }
  if (found.frameworks.empty()) found.frameworks = std::move(installed);
  if (found.frameworks.empty()) {
    found.warnings.push_back(
        fmt::format("{} has no JAX, TensorFlow or PyTorch/XLA: only flags that any XLA has are "
                    "set; fix: run it "
                    "with the python of the program's own environment, or --framework",
                    found.python.empty() ? "no Python was found, which" : found.python));
  }
}

// Which of `names` occur in the file.
std::set<std::string> WordsInFile(const std::string& path, std::span<const std::string> names) {
  constexpr size_t kBlock = 8 << 20, kOverlap = 128;
  std::set<std::string> found;
  std::ifstream file(path, std::ios::binary);
  std::string block;
  while (file && found.size() < names.size()) {
    const size_t kept = std::min(block.size(), kOverlap);
    block.erase(0, block.size() - kept);
    block.resize(kept + kBlock);
    file.read(block.data() + kept, static_cast<std::streamsize>(kBlock));
    block.resize(kept + static_cast<size_t>(file.gcount()));
    for (const std::string& name : names) {
      if (!found.contains(name) && std::string_view(block).find(name) != std::string_view::npos)
        found.insert(name);
    }
  }
  return found;
}

}  // namespace

std::vector<std::string> WordsOf(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

const char* ValueOf(const Environment& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name))
      return entry.c_str() + name.size() + 1;
  }
  return nullptr;
}

void SetValue(Environment& environment, std::string_view name, std::string_view value) {
  std::erase_if(environment, [&](const std::string& entry) {
    return entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name);
  });
  environment.push_back(fmt::format("{}={}", name, value));
}

Result<RecordedProgram> FindProgram(const std::vector<std::string>& command,
                                    const Environment& environment, const std::string& framework) {
  RecordedProgram found;
  found.program = InPath(command.front(), environment);
  if (found.program.empty()) {
    std::error_code error;
    const bool script = command.front().ends_with(".py") && fs::exists(command.front(), error);
    return InputError(fmt::format(
        "{}: program not found or not executable{}", command.front(),
        script ? fmt::format("; fix: hloscope record -- python {}", command.front()) : ""));
  }
  FindPython(command, environment, found);
  AskPython(environment, found);
  ChooseFrameworks(framework, found);
  return found;
}

std::optional<std::vector<std::string>> KnownFlags(const RecordedProgram& program,
                                                   std::span<const std::string> names) {
  std::set<std::string> known(names.begin(), names.end());
  bool any = false;
  std::vector<std::string> asked(names.begin(), names.end());
  const std::string sign = "xla_dump_to";
  asked.push_back(sign);
  for (const std::string& library : program.libraries) {
    const std::set<std::string> found = WordsInFile(library, asked);
    if (!found.contains(sign)) continue;
    any = true;
    std::erase_if(known, [&](const std::string& name) { return !found.contains(name); });
  }
  if (!any) return std::nullopt;
  asked.pop_back();
  std::erase_if(asked, [&](const std::string& name) { return !known.contains(name); });
  return asked;
}

}  // namespace hloscope::debug
