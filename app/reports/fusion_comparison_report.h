// Two dumps of one module by two compilers: kernels and the bytes that they move.
#pragma once

#include <memory>
#include <string>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/graph/fusion_comparison.h"

namespace hloscope::app {

struct FusionReport {
  std::string a, b;  // the dumps
  std::shared_ptr<const hlo::Module> given, compiled_a, compiled_b;
  graph::FusionComparison comparison;
};

// Errors (input): a folder that is no dump of a compiled module; two that have no module of one
// name.
Result<FusionReport> ReadFusionReport(const std::string& a, const std::string& b,
                                      const Limits& limits);

// `top` rows of what differs most.
std::string FusionReportText(const FusionReport& report, size_t top);
std::string FusionReportJson(const FusionReport& report);

}  // namespace hloscope::app
