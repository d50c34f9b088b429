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

/// Which kernels compute the instructions of a stage. Several do where one was copied into each.
struct KernelsOfEach {
  struct Other {
    hlo::InstructionId instruction;
    uint32_t kernel = kNoKernel;
  };
  std::vector<uint32_t> first;  // by instruction: the surest; kNoKernel: none
  std::vector<Other> others;    // at most 64 of an instruction
};

/// All that each kernel computes, in program order.
class OperationsOfKernels {
 public:
  OperationsOfKernels() = default;
  OperationsOfKernels(const std::vector<uint32_t>& first,
                      std::span<const KernelsOfEach::Other> others, size_t kernels);
  std::span<const hlo::InstructionId> Of(uint32_t kernel) const {
    return kernel < of_.size() ? std::span(of_[kernel]) : std::span<const hlo::InstructionId>();
  }

 private:
  std::vector<std::vector<hlo::InstructionId>> of_;  // by kernel
};

/// Of stage `stage`, through every stage up to the final one: the kernels that
/// InstructionFacts::compiled leads to.
Result<KernelsOfEach> KernelOfEach(const analysis::Lineage& lineage, int32_t stage,
                                   int32_t final_stage, const KernelMap& map);

}  // namespace hloscope::graph
