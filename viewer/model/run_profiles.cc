#include "viewer/model/run_profiles.h"

#include <filesystem>
#include <system_error>

#include "core/base/jobs.h"

namespace hloscope::viewer {

Result<RunProfile> RunProfiles::Write(debug::RunRecorder& recorder, std::string_view module,
                                      std::string_view platform) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto profile, recorder.Finish(SharedJobs(AvailableCpus())));
  RunProfile written;
  HLOSCOPE_ASSIGN_OR_RETURN(written.path, folder_.NewPath(module, platform));
  written.is_retained = folder_.is_retained();
  auto lost = profiler::WriteProfile({*profile, nullptr, written.path});
  if (!lost) {
    std::error_code error;
    std::filesystem::remove(written.path, error);
    return std::unexpected(lost.error());
  }
  written.lost = *std::move(lost);
  folder_.RemoveOldest();
  return written;
}

}  // namespace hloscope::viewer
