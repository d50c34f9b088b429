// Dumps compared module by module, as text and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/reports/fusion_comparison_report.h"
#include "core/analysis/compilation/autotuning.h"
#include "core/debug/compare/compare_dumps.h"

namespace hloscope::app {

struct DumpComparisonReport {
  debug::DumpComparison comparison;
  std::optional<FusionReport> fusion;                    // of two dumps of one compiled module
  std::vector<analysis::ChoiceDifference> choices = {};  // of the autotuner, of two dumps
};

// The exit status: 0, 1, 2 where a module cannot be read, 3 where only constants without values
// keep the dumps from being equal.
int StatusOf(const debug::DumpComparison& comparison);

// `top` modules of those that differ.
std::string DumpComparisonText(const DumpComparisonReport& report, size_t top);
std::string DumpComparisonJson(const DumpComparisonReport& report);

}  // namespace hloscope::app
