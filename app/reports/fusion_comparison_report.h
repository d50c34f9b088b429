// Two dumps of one module by two compilers: kernels and the bytes that they move.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/json.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/graph/compilation_pair.h"

namespace hloscope::app {

struct FusionReport {
  std::string a, b;  // the dumps
  graph::CompilationPair pair;
};

// A module of a dump, as in dump::ModuleEntry.
struct CompiledPlace {
  std::string dump, module;
  int64_t id = -1;
  std::string folder = {}, timestamp = {};
};
// Errors (input): a dump that has no such module, or it is not compiled or cannot be read.
Result<FusionReport> ReadFusionReport(const CompiledPlace& a, const CompiledPlace& b,
                                      const Limits& limits);

// `top` rows of what differs most.
std::string FusionReportText(const FusionReport& report, size_t top);
// Fields of the object that is open: `all_a`, `all_b`, `groups`.
void WriteFusion(const FusionReport& report, JsonWriter& json);

}  // namespace hloscope::app
