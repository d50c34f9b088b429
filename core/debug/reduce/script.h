// A program of the user's that says whether a module still fails.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>

#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

enum class ScriptAnswer : uint8_t { kFails, kDoesNotFail, kTimedOut };

// Runs `script` with the path of a file NAME.hlo, the module as XLA parses it, in a new folder that
// is its working directory and goes afterwards. The module fails if it exits with 0; a script that
// needs longer than `most` is killed, with all that it started. It has our environment; what it
// prints is dropped. Errors: it cannot be started, there is no space for the folder, cancelled.
Result<ScriptAnswer> AskScript(const std::string& script, const hlo::Module& module,
                               std::chrono::milliseconds most, const std::stop_token& stop);

}  // namespace hloscope::debug
