// What `compare` says of two traces, as text and as JSON.
#pragma once

#include <string>

#include "app/reports/profile_report.h"
#include "profiler/profile_comparison.h"

namespace hloscope::app {

std::string ProfileComparisonText(const ProfileReport& a, const ProfileReport& b,
                                  const profiler::ProfileComparison& comparison);
// One line.
std::string ProfileComparisonJson(const ProfileReport& a, const ProfileReport& b,
                                  const profiler::ProfileComparison& comparison);

}  // namespace hloscope::app
