// What `profile` says of one trace, as text and as JSON.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "profiler/attribution.h"
#include "profiler/profile.h"
#include "profiler/range_statistics.h"

namespace hloscope::app {

struct ProfileReport {
  std::string path;  // as given
  std::shared_ptr<const profiler::Profile> profile;
  std::shared_ptr<const profiler::Attribution> attribution;
  std::vector<profiler::DurationStatistics> names;  // of all events
  std::vector<std::string> warnings;
  double time_ms = 0;
  size_t top = 20;  // rows of each table
};

std::string ProfileText(const ProfileReport& report);
// One line.
std::string ProfileJson(const ProfileReport& report);

// Picoseconds in the unit that suits: "1.25 ms".
std::string DurationText(int64_t picoseconds);

}  // namespace hloscope::app
