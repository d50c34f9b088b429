// Running the user's script in a folder of its own.
#include "core/debug/reduce/script.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "core/base/child_process.h"
#include "core/base/environment.h"
#include "core/base/file.h"
#include "core/base/scratch_folder.h"
#include "core/hlo/text/text.h"

namespace hloscope::debug {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBetweenLooks{100};  // whether to stop
constexpr int kNotStarted = 126;            // from here on a shell says so

// As the folder it is started in is another one. A bare name is looked up as the shell does.
std::string Absolute(const std::string& script) {
  std::error_code code;
  const std::filesystem::path path = std::filesystem::absolute(script, code);
  return !code && std::filesystem::exists(path, code) ? path.string() : script;
}

}  // namespace

Result<ScriptAnswer> AskScript(const std::string& script, const hlo::Module& module,
                               milliseconds most, const std::stop_token& stop) {
  HLOSCOPE_ASSIGN_OR_RETURN(const ScratchFolder folder, ScratchFolder::Make());
  std::string text;
  hlo::PrintText(module, hlo::TextFormat::kHlo, text);
  const std::string file = folder.path() + "/module.hlo";
  HLOSCOPE_TRY(WriteFileAtomically(file, text));
  ChildOptions options;
  options.program = "/bin/sh";
  options.arguments = {"sh",
                       "-c",
                       "cd \"$0\" && exec \"$1\" \"$2\" >/dev/null 2>&1",
                       folder.path(),
                       Absolute(script),
                       file};
  options.environment = OwnEnvironment();
  HLOSCOPE_ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Spawn(options));
  const auto end = std::chrono::steady_clock::now() + most;
  while (!stop.stop_requested() && std::chrono::steady_clock::now() < end) {
    const std::optional<ChildExit> exit = child.Wait(kBetweenLooks);
    if (!exit) continue;
    const bool not_started =
        !exit->by_signal && (exit->code == kNotStarted || exit->code == kNotStarted + 1);
    if (not_started) {
      return EnvironmentError("cannot start the script " + script,
                              "it has to be an executable file; its first line names what runs it");
    }
    return !exit->by_signal && exit->code == 0 ? ScriptAnswer::kFails : ScriptAnswer::kDoesNotFail;
  }
  if (stop.stop_requested())
    return std::unexpected(Error{ErrorClass::kCancelled, "cancelled", {}, {}});
  return ScriptAnswer::kTimedOut;
}

}  // namespace hloscope::debug
