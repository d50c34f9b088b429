// Which kernels, library calls, copies … compute an instruction, and which only read its value: one
// answer for the window, `info --select` and the ribbons between pictures.
#pragma once

#include <span>
#include <vector>

#include "core/analysis/align/lineage.h"
#include "core/analysis/align/provenance.h"
#include "core/graph/kernel_map.h"

namespace hloscope::graph {

/// Positions in KernelMap::kernels, ascending.
struct KernelUses {
  std::vector<uint32_t> computed_by, read_by;
};

/// Of instructions of the compiled module, together. A bitcast outside of a kernel, a parameter and
/// control flow are computed by none. A value is read by what takes it as an operand, also through
/// tuples and bitcasts of its computation; one that does not leave its kernel is read by none.
KernelUses UsesOf(const hlo::Module& compiled, const KernelMap& map,
                  std::span<const hlo::InstructionId> instructions);

/// By instruction of stage `stage`, through every stage up to the final one: the kernel that
/// InstructionFacts::compiled leads to first; kNoKernel: none.
Result<std::vector<uint32_t>> KernelOfEach(const analysis::Lineage& lineage, int32_t stage,
                                           int32_t final_stage, const KernelMap& map);

}  // namespace hloscope::graph
