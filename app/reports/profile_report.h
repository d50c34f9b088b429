// What `profile` says of one trace, as text and as JSON.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/jobs.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "profiler/attribution.h"
#include "profiler/critical_path.h"
#include "profiler/launch_sums.h"
#include "profiler/profile.h"
#include "profiler/range_statistics.h"
#include "profiler/what_if.h"

namespace hloscope::app {

// What is known of the runs that a profile was recorded of.
struct RecordedRuns {
  std::string module, platform, reference;  // the latter empty: none
  std::string written;                      // the file it went to; empty: none
  std::vector<profiler::Loss> lost = {};    // what its format has no place for
  std::vector<double> run_us, unrecorded_us;
  bool same_bits = true;            // with and without recording
  std::optional<Error> error = {};  // of runs of which some was recorded
  // What `run` reports, where something was compared or looked for, and whether it differs.
  std::string run_text = {}, run_json = {};
  bool differs = false;
  // How much longer recorded runs behind the first took in the median; nullopt: not measured.
  std::optional<double> overhead() const;
};

struct ProfileReport {
  std::string path;  // as given
  std::shared_ptr<const profiler::Profile> profile;
  std::shared_ptr<const profiler::Attribution> attribution;
  std::vector<profiler::LaunchSums> sums;           // by its times(); empty: nothing was counted
  std::vector<profiler::WhatIf> what_if;            // of the devices that were asked for
  std::vector<profiler::DurationStatistics> names;  // of all events
  profiler::CriticalPath critical_path;             // from the first work to the last
  std::vector<std::string> warnings;
  std::optional<RecordedRuns> recorded;
  double time_ms = 0;
  size_t top = 20;  // rows of each table
};

// The profile tied to the modules it carries, and to those of `given` that it does not; `names`
// stay empty.
Result<ProfileReport> MakeProfileReport(std::shared_ptr<const profiler::Profile> profile,
                                        const std::vector<profiler::AttributedModule>& given,
                                        const Limits& limits, Jobs& jobs);
// Reads a trace and ties it to the modules it carries, and to those of `given` that it does not;
// `names` and `critical_path` stay empty.
Result<ProfileReport> ReadProfileReport(const FileView& file,
                                        const std::vector<profiler::AttributedModule>& given,
                                        const Limits& limits, Jobs& jobs);
// The statistics of all events by their names, and the critical path.
Status AddStatistics(ProfileReport& report, Jobs& jobs);

std::string ProfileText(const ProfileReport& report);
// One line.
std::string ProfileJson(const ProfileReport& report);

// One line of one of several recordings, which is told in full elsewhere.
std::string RecordedText(const ProfileReport& report, int64_t number);

// What was written to `out`, and what its format cannot hold.
std::string ConversionText(const ProfileReport& report, const std::string& out,
                           const std::vector<profiler::Loss>& lost);
// What was recorded and written to the report's path.
std::string WrittenText(const ProfileReport& report, const std::vector<profiler::Loss>& lost);
std::string ConversionJson(const ProfileReport& report, const std::string& out,
                           const std::vector<profiler::Loss>& lost);

// By module of the attribution: its name, of several of one name with the number of the program,
// as XLA's lines of modules have it: "jit_g(7)".
std::vector<std::string> ModuleLabels(const profiler::Attribution& attribution);

// Picoseconds in the unit that suits: "1.25 ms".
std::string DurationText(int64_t picoseconds);
double Nanoseconds(int64_t picoseconds);

}  // namespace hloscope::app
