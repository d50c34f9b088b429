// Running the program of a recording: its standard input and output are ours, its standard error is
// shown and kept.
#pragma once

#include <string>
#include <vector>

#include "core/base/child_process.h"
#include "core/base/result.h"
#include "core/debug/record/recorded_program.h"

namespace hloscope::debug {

struct ProgramRun {
  ChildExit exit;
  bool interrupted = false;  // by SIGINT or SIGTERM, which were passed on
  double seconds = 0;
  bool log_lost = false;  // the log could not be written to its end
};

struct RunSettings {
  std::string program;               // the path
  std::vector<std::string> command;  // its words
  Environment environment;
  std::string log;               // the file that keeps standard error; it is new, mode 0600
  bool output_to_error = false;  // its standard output goes to our standard error
  bool hide_compile_log = true;  // lines about compilations are kept and not shown
};

// Runs it to its end. The first SIGINT or SIGTERM from another process is passed
// on to it, the second kills it; those of a terminal reach it by themselves. Call it
// before any thread is made. Errors: it cannot be started, the log cannot be created.
Result<ProgramRun> RunRecorded(const RunSettings& settings);

}  // namespace hloscope::debug
