// A program of the user's that says whether a module still fails.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>

#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

// Runs `script` with the path of a file NAME.hlo, the module as XLA parses it, in a new folder that
// is its working directory and goes afterwards. True if it exits with 0; a script that needs longer
// than `most` is killed. It has our environment; what it prints is dropped. Environment errors: it
// cannot be started, or there is no room for the folder.
Result<bool> StillFails(const std::string& script, const hlo::Module& module,
                        std::chrono::milliseconds most, const std::stop_token& stop);

}  // namespace hloscope::debug
