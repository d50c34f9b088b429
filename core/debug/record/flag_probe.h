// Whether a crash is due to the flags of a recording: a small program of ours is run with them and
// without. The user's own program is never run a second time: nothing says that it may be.
#pragma once

#include <string>
#include <string_view>

#include "core/base/child_process.h"
#include "core/debug/record/recording_plan.h"

namespace hloscope::debug {

// Whether the flags may be to blame for how a program ended: a signal of a fault, or XLA's refusal
// of a flag in its log.
bool MayBeFlags(const ChildExit& exit, std::string_view log);

struct FlagVerdict {
  bool is_known = false;  // the small program could be run with the environment of the user
  bool is_ours = false;   // and ended badly with that of the recording
  std::string framework;  // of the small program
  std::string how;        // "was killed by signal 11 (SIGSEGV)"
};
FlagVerdict TryFlags(const RecordedProgram& program, const Environment& users,
                     const RecordingPlan& plan);

}  // namespace hloscope::debug
