// The program: finds the command, reads its arguments, runs it.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "app/activity_line.h"
#include "app/command.h"
#include "app/command_line.h"
#include "app/fail.h"
#include "app/help.h"
#include "app/output.h"
#include "app/serve.h"
#include "app/version.h"
#include "core/backends/worker_services.h"
#include "core/replay/workers/worker_protocol.h"
#include "core/replay/workers/worker_server.h"

namespace hloscope::app {
namespace {

Status ApplyCommonOptions(CommonOptions& common) {
  if (common.context.jobs < 0) {
    return InputError(fmt::format("--jobs {}: expected 0 or more", common.context.jobs));
  }
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
  const std::vector<OptionSpec> specs = AllOptions(*command, common);
  switch (ParseArguments(row, specs, arguments)) {
    case ParseOutcome::kHelpShown:
      return kGood;
    case ParseOutcome::kUsageError:
      return kBadInput;
    case ParseOutcome::kRun:
      break;
  }
  if (Status status = ApplyCommonOptions(common); !status) {
    return Fail(InputKeys(), status.error(), common.context);
  }
  if (common.limit_output) LimitOutput(*common.limit_output, common.context.json);
  const ActivityLine line(!common.context.json);
  return command->Run(common.context);
}

int Dispatch(const std::vector<std::string>& words) {
  if (words.empty()) {
    PrintError(OwnLines(Overview(TerminalWidth())));
    return kBadInput;
  }
  if (words[0] == "--help" || words[0] == "-h") {
    WriteOut(Overview(TerminalWidth()));
    return kGood;
  }
  if (words[0] == "--version" || words[0] == "version") {
    WriteOut(VersionText());
    return kGood;
  }
  const CommandRow* const row = CommandRowOf(words[0]);
  if (row != nullptr) return RunCommand(*row, {words.begin() + 1, words.end()});
  PrintError(UnknownCommand(words[0]));
  return kBadInput;
}

// A child of the Python package ends with the process that started it, HLOSCOPE_PARENT. False: that
// has ended already.
bool EndWithParent() {
  const char* const parent = std::getenv("HLOSCOPE_PARENT");
  if (parent == nullptr) return true;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const bool is_there = std::to_string(getppid()) == parent;
  unsetenv("HLOSCOPE_PARENT");  // the children of this process have another
  return is_there;
}

}  // namespace
}  // namespace hloscope::app

int main(int argc, char** argv) {
  using namespace hloscope::app;
  // A file at the limit of its size (ulimit -f) is an error of the write, not our death.
  std::signal(SIGXFSZ, SIG_IGN);
  // What hloscope starts to run modules in; nothing for people, so no command.
  if (argc > 2 && argv[1] == hloscope::replay::kWorkerArgument) {
    return hloscope::replay::ServeWorker(std::span(argv + 2, argv + argc),
                                         hloscope::replay::BackendServices());
  }
  if (!EndWithParent()) return kDied;
  std::vector<std::string> words(argv + 1, argv + argc);
  // What the Python package starts to run commands in; no command of people's either.
  if (words.size() == 2 && words[0] == "serve") {
    std::optional<std::vector<std::string>> asked = ServeRequests(std::atoi(words[1].c_str()));
    if (!asked) return kGood;
    words = *std::move(asked);
  }
  int status = kBadInput;
  try {
    status = Dispatch(words);
  } catch (const std::bad_alloc&) {
    PrintError("hloscope: out of memory");
  } catch (const std::system_error& error) {
    // Only threads throw it.
    PrintError(
        fmt::format("hloscope: cannot start a thread: {} (raise the limit of processes, ulimit -u)",
                    error.code().message()));
  } catch (const std::exception& error) {
    PrintError(std::string("hloscope: ") + error.what());
  }
  if (!FinishOut()) {
    PrintError("hloscope: cannot write to standard output");
    status = Worse(status, kBadInput);
  }
  return status;
}
