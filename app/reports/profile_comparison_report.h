// What `compare` says of two traces, or of several on each side, as text and as JSON.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "app/reports/profile_report.h"
#include "core/base/jobs.h"
#include "core/base/result.h"
#include "profiler/profile_comparison.h"

namespace hloscope::app {

// The comparison, what its sides are called, and what was to be said of their recordings.
struct ComparedReports {
  std::string a, b;
  profiler::ProfileComparison comparison;
  std::vector<std::string> warnings;
};

// Compares recordings; of one with a reference in it the other programs count. Errors: none but a
// stop.
Result<ComparedReports> CompareReports(std::span<const ProfileReport> a,
                                       std::span<const ProfileReport> b, Jobs& jobs);

// Of recordings that have a reference in them, the platform (called `a`) and the reference (`b`).
Result<ComparedReports> CompareWithReference(std::span<const ProfileReport> reports, std::string a,
                                             std::string b, Jobs& jobs);

// `top`: rows of the table of instructions.
std::string ProfileComparisonText(const ComparedReports& compared, size_t top);
// One line.
std::string ProfileComparisonJson(const ComparedReports& compared);

}  // namespace hloscope::app
