// Writing of profiles that runs made.
#include "app/commands/record_profile.h"

#include <filesystem>

#include "app/module_form.h"

namespace hloscope::app {

Result<std::string> ProfilePath(const std::string& out, std::span<const std::string> modules) {
  std::error_code error;
  const std::filesystem::path asked(out);
  const bool is_folder = out.ends_with('/') || std::filesystem::is_directory(asked, error);
  if (!is_folder) {
    HLOSCOPE_TRY(profiler::CheckWritten(out));
    return out;
  }
  std::filesystem::create_directories(asked, error);
  if (error) return EnvironmentError(out + ": " + error.message());
  const bool is_one = modules.size() == 1 && modules.front() != "-";
  return (asked / ((is_one ? ModuleStem(modules.front()) : "run") + ".hloprof")).string();
}

Result<ProfileReport> FinishProfile(debug::RunRecorder& recorder, const std::string& path,
                                    bool statistics, std::vector<profiler::Loss>& lost,
                                    const Context& context) {
  Jobs jobs(context.jobs > 0 ? static_cast<int>(context.jobs) : AvailableCpus());
  HLOSCOPE_ASSIGN_OR_RETURN(auto profile, recorder.Finish(jobs));
  HLOSCOPE_ASSIGN_OR_RETURN(ProfileReport report,
                            MakeProfileReport(std::move(profile), {}, context.limits, jobs));
  report.path = path;
  if (!path.empty()) {
    HLOSCOPE_ASSIGN_OR_RETURN(
        lost, profiler::WriteProfile({*report.profile, report.attribution.get(), path}));
  }
  if (statistics) HLOSCOPE_TRY(AddStatistics(report, jobs));
  return report;
}

}  // namespace hloscope::app
