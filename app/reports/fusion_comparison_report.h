// Two dumps of one module by two compilers: kernels and the bytes that they move.
#pragma once

#include <memory>
#include <string>

#include "core/base/json.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/graph/fusion_comparison.h"

namespace hloscope::app {

struct FusionReport {
  std::string a, b;  // the dumps
  std::shared_ptr<const hlo::Module> given, compiled_a, compiled_b;
  graph::FusionComparison comparison;
};

// A compiled module of a dump.
struct CompiledPlace {
  std::string dump, module;
};
// Errors (input): a dump that has no compiled module of that name, or it cannot be read.
Result<FusionReport> ReadFusionReport(const CompiledPlace& a, const CompiledPlace& b,
                                      const Limits& limits);

// `top` rows of what differs most.
std::string FusionReportText(const FusionReport& report, size_t top);
// Fields of the object that is open: `all_a`, `all_b`, `groups`.
void WriteFusion(const FusionReport& report, JsonWriter& json);

}  // namespace hloscope::app
