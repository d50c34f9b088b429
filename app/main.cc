// The program: finds the command, reads its arguments, runs it.
#include <charconv>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/command.h"
#include "app/command_line.h"
#include "app/output.h"
#include "app/version.h"
#include "core/debug/run/worker_observers.h"
#include "core/replay/workers/isolated_task.h"
#include "core/replay/workers/worker_server.h"

namespace hloscope::app {
namespace {

std::string Overview() {
  std::string text =
      "hloscope opens what the XLA compiler leaves behind, runs it again, and says where two runs "
      "part company.\n\n"
      "Usage: hloscope COMMAND [OPTIONS] …\n\nCommands:\n";
  for (const CommandRow& row : CommandRows()) {
    text += "  " + std::string(row.name) + std::string(14 - row.name.size(), ' ') +
            std::string(row.summary) + "\n";
  }
  text +=
      "\n`hloscope COMMAND --help` explains one; `--version` prints the version.\n"
      "Exit status: 0 good or equal, 1 values differ, 2 bad input or usage, 3 unsupported, 4 the "
      "runner died.\n";
  return text;
}

Status ApplyLimits(CommonOptions& common) {
  for (const std::string& text : common.limits) {
    size_t equals = text.find('=');
    int64_t value = 0;
    const char* end = text.data() + text.size();
    bool number = equals != std::string::npos &&
                  std::from_chars(text.data() + equals + 1, end, value).ptr == end &&
                  equals + 1 < text.size();
    if (!number)
      return InputError("--limit " + text + ": expected NAME=VALUE",
                        "`hloscope limits` lists them");
    HLOSCOPE_TRY(SetLimit(common.context.limits, text.substr(0, equals), value));
  }
  return {};
}

int RunCommand(const CommandRow& row, const std::vector<std::string>& arguments) {
  std::unique_ptr<Command> command = row.make();
  CommonOptions common;
  std::vector<OptionSpec> specs = command->Options();
  for (OptionSpec& spec : common.Specs()) specs.push_back(std::move(spec));
  switch (ParseArguments(row, specs, arguments)) {
    case ParseOutcome::kHelpShown:
      return kGood;
    case ParseOutcome::kUsageError:
      return kBadInput;
    case ParseOutcome::kRun:
      break;
  }
  if (Status status = ApplyLimits(common); !status) {
    PrintError(status.error());
    return kBadInput;
  }
  return command->Run(common.context);
}

int Dispatch(const std::vector<std::string>& words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    WriteOut(Overview());
    return words.empty() ? kBadInput : kGood;
  }
  if (words[0] == "--version" || words[0] == "version") {
    WriteOut(VersionText());
    return kGood;
  }
  if (words[0] == replay::kIsolatedTaskArgument && words.size() == 2) {
    return replay::IsolatedTaskMain(words[1]);
  }
  for (const CommandRow& row : CommandRows()) {
    if (row.name == words[0]) return RunCommand(row, {words.begin() + 1, words.end()});
  }
  PrintError("hloscope: unknown command " + words[0] +
             ", expected one of those `hloscope --help` lists");
  return kBadInput;
}

}  // namespace
}  // namespace hloscope::app

int main(int argc, char** argv) {
  using namespace hloscope::app;
  // What hloscope starts to run modules in; nothing for people, so no command.
  if (argc > 2 && argv[1] == hloscope::replay::kWorkerArgument) {
    return hloscope::replay::ServeWorker(std::span(argv + 2, argv + argc),
                                         hloscope::debug::WorkerObservers());
  }
  int status = kBadInput;
  try {
    status = Dispatch({argv + 1, argv + argc});
  } catch (const std::bad_alloc&) {
    PrintError("hloscope: out of memory");
  } catch (const std::exception& error) {
    PrintError(std::string("hloscope: ") + error.what());
  }
  if (!FlushOut()) {
    PrintError("hloscope: standard output could not be written");
    status = Worse(status, kBadInput);
  }
  return status;
}
