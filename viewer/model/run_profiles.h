// RunProfiles: the profiles that the divergence lab records of its runs, as files that outlast
// them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/debug/run/run_recorder.h"
#include "profiler/profile.h"
#include "viewer/model/retained_files.h"

namespace hloscope::viewer {

// One that was written.
struct RunProfile {
  std::string path;
  bool is_retained = true;           // false: it goes when the window is closed
  std::vector<profiler::Loss> lost;  // what its format cannot hold
};

class RunProfiles {
 public:
  static constexpr size_t kMaxKept = 20;

  // They lie in the folder `profiles` of this one, at most kMaxKept, the oldest removed first; in
  // one of their own that goes with this object where it is empty.
  explicit RunProfiles(std::string state_folder)
      : folder_(std::move(state_folder), "profiles", ".hloprof", RetainedKind::kFile, kMaxKept) {}

  // Writes what was recorded, which is spent, to a file of its own, named after module and
  // platform. Errors: those of recording and of writing.
  Result<RunProfile> Write(debug::RunRecorder& recorder, std::string_view module,
                           std::string_view platform);

 private:
  RetainedFiles folder_;
};

}  // namespace hloscope::viewer
