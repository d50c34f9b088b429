// Files of recorded runs.
#include "viewer/model/run_profiles.h"

#include "core/base/jobs.h"

namespace hloscope::viewer {

Result<RunProfile> RunProfiles::Write(debug::RunRecorder& recorder, std::string_view module,
                                      std::string_view platform) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto profile, recorder.Finish(SharedJobs(AvailableCpus())));
  RunProfile written;
  HLOSCOPE_ASSIGN_OR_RETURN(written.path, folder_.NewPath(module, platform));
  written.is_retained = folder_.is_retained();
  HLOSCOPE_ASSIGN_OR_RETURN(written.lost,
                            profiler::WriteProfile({*profile, nullptr, written.path}));
  folder_.RemoveOldest();
  return written;
}

}  // namespace hloscope::viewer
