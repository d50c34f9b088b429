// `hloscope mcp` and `hloscope skill`: written in Python, in the package that comes with the
// program. They need the standard library alone; the interpreter is isolated (-I), so that no file
// of the working folder is imported.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "app/command.h"
#include "app/fail.h"
#include "core/replay/assets.h"

namespace hloscope::app {
namespace {

namespace fs = std::filesystem;

// The package that the program lies in (a wheel), or that lies with it.
std::optional<fs::path> PackageOf(const fs::path& program) {
  std::error_code error;
  const fs::path around = program.parent_path().parent_path().parent_path();
  if (fs::exists(around / "mcp.py", error) && fs::exists(around / "__main__.py", error)) {
    return around;
  }
  const std::optional<std::string> folder = replay::FindAsset("python", "");
  if (!folder || !fs::exists(fs::path(*folder) / "hloscope/mcp.py", error)) return std::nullopt;
  return fs::path(*folder) / "hloscope";
}

// The Python of the environment that the package is installed in, else that of PATH.
std::string PythonFor(const fs::path& package) {
  std::error_code error;
  const fs::path environment = package.parent_path() / "../../..";
  const fs::path python = environment / "bin/python3";
  if (fs::exists(environment / "pyvenv.cfg", error) && fs::exists(python, error)) return python;
  return "python3";
}

// Becomes `python -I PACKAGE WORDS…`; returns where that fails.
int BecomePython(std::vector<std::string> words, const Context& context) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const std::optional<fs::path> package = PackageOf(program);
  if (!package) {
    return Fail(InputKeys(),
                InputError(fmt::format("hloscope {}: the Python package is not next to {}",
                                       words[0], program.string()),
                           "pip install hloscope")
                    .error(),
                context);
  }
  const std::string python = PythonFor(*package);
  words.insert(words.begin(), {python, "-I", (*package / "__main__.py").string()});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  setenv("HLOSCOPE_PROGRAM", program.c_str(), 1);
  execvp(python.c_str(), arguments.data());
  return Fail(InputKeys(),
              InputError(fmt::format("hloscope: cannot start {}: {}", python, std::strerror(errno)),
                         "install Python 3.9 or later")
                  .error(),
              context);
}

class McpCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    return {{.name = "--allow-run",
             .target = &allow_run_,
             .help = "also offer the tools that run modules or write files"},
            {.name = "--max-answer",
             .target = &max_answer_,
             .help = "bytes of an answer, from which on it is shortened and says so",
             .value = "BYTES",
             .min = 1000}};
  }
  int Run(const Context& context) override {
    std::vector<std::string> words = {"mcp", fmt::format("--max-answer={}", max_answer_)};
    if (allow_run_) words.emplace_back("--allow-run");
    return BecomePython(std::move(words), context);
  }

 private:
  bool allow_run_ = false;
  int64_t max_answer_ = 20000;
};

class SkillCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    return {{.name = "--install",
             .target = &folder_,
             .help = "the folder of an agent's skills; the skill goes into its folder hloscope",
             .value = "DIR"}};
  }
  int Run(const Context& context) override {
    std::vector<std::string> words = {"skill"};
    if (!folder_.empty()) words.push_back("--install=" + folder_);
    if (context.json) words.emplace_back("--json");
    return BecomePython(std::move(words), context);
  }

 private:
  std::string folder_;
};

}  // namespace

std::unique_ptr<Command> MakeMcpCommand() { return std::make_unique<McpCommand>(); }
std::unique_ptr<Command> MakeSkillCommand() { return std::make_unique<SkillCommand>(); }

}  // namespace hloscope::app
