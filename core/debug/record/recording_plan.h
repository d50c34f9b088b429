// RecordingPlan: the environment in which a program leaves a good dump, and what stands against it.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/debug/record/recorded_program.h"

namespace hloscope::debug {

struct RecordingOptions {
  std::string dump;  // empty: where XLA_FLAGS says, else a new folder
  bool passes = false, snapshots = false, profile = false, inputs = false;
  bool caches_off = false;  // of compilations, for this run
};

struct RecordingPlan {
  std::string dump;                   // absolute
  std::string hook;                   // a folder that goes when the program has run, or empty
  bool profiles = false;              // the hook makes a profile
  Environment environment;            // of the program
  std::vector<std::string> warnings;  // what keeps files from the dump, with the fix
  std::vector<std::string> added;     // flags of XLA that were not set before
  bool logs_asked = false;            // the user asked for logs of compilations, so they are shown
};

// Everything that is set in `environment` stays; flags are only added. Makes the folder of the
// dump. Errors: it cannot be made.
Result<RecordingPlan> PlanRecording(const RecordedProgram& program, const Environment& environment,
                                    const RecordingOptions& options);

}  // namespace hloscope::debug
