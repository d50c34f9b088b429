// CompilationPair: a module of one dump and its counterpart in another, with what each compiler
// made of it.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/result.h"
#include "core/dump/dump_model.h"
#include "core/graph/fusion_comparison.h"

namespace hloscope::graph {

struct ModuleOfDump {
  std::shared_ptr<const dump::DumpModel> dump;
  int32_t module = -1;
};

struct CompilationPair {
  std::shared_ptr<const hlo::Module> given, compiled_a, compiled_b;  // given: to the first
  FusionComparison comparison;
};

// Error (input): one of the two has no compiled stage, or a stage cannot be read.
Result<CompilationPair> CompareCompilations(const ModuleOfDump& a, const ModuleOfDump& b);

}  // namespace hloscope::graph
