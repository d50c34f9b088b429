// FusionComparison: what two compilers made of one module: which operations each runs together, and
// how many bytes its kernels read and write for them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/analysis/place/placement.h"
#include "core/graph/kernel_map.h"
#include "core/graph/kernel_work.h"
#include "core/hlo/module.h"

namespace hloscope::graph {

// What runs of a compiled module: kernels, library calls and copies.
struct CompiledSide {
  KernelMap map;
  std::vector<Traffic> traffic;  // by kernel of the map
  Traffic all;
  int64_t counted_once = 0;  // kernels of loops and branches that run an unknown number of times
};
CompiledSide MakeCompiledSide(const hlo::Module& compiled, const analysis::Placement& placement);

// The fewest kernels of both sides that run the same operations; one side may have none.
struct FusionGroup {
  std::vector<uint32_t> kernels_a, kernels_b;  // of the maps
  std::vector<hlo::InstructionId> operations;  // of the module as it was given
  Traffic a, b;
};

struct FusionComparison {
  CompiledSide a, b;
  std::vector<FusionGroup> groups;  // those that differ most in bytes first
};

// What one compiler made of a module; `links` are from that module.
struct CompiledModule {
  const hlo::Module& module;
  const analysis::Placement& placement;
  const analysis::Alignment& links;
};

// `given` is what both were made of.
FusionComparison CompareFusion(const hlo::Module& given, const CompiledModule& a,
                               const CompiledModule& b);

}  // namespace hloscope::graph
