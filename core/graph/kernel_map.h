// Which kernel computes an operation: what XLA runs as one, numbered, by instruction of the
// compiled stage and of an earlier one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/analysis/align/alignment.h"
#include "core/analysis/place/placement.h"
#include "core/hlo/module.h"

namespace hloscope::graph {

inline constexpr uint32_t kNoKernel = UINT32_MAX;

// How a kernel is told from its neighbours: one of kKernelColors, or that of the host or of
// collectives.
inline constexpr uint8_t kKernelColors = 5, kHostColor = 5, kCollectiveColor = 6;

struct KernelMap {
  struct Kernel {
    hlo::InstructionId instruction;  // the fusion, library call, copy, collective, host call
    analysis::Place place = analysis::Place::kDeviceKernel;
    uint8_t color = 0;
  };
  std::vector<Kernel> kernels;      // the entry's in program order, then those of what it calls
  std::vector<uint32_t> kernel_of;  // by instruction; kNoKernel: parameters, control flow, …
};

// Of a compiled module. What is inside a fusion or applied by a reduction is in the kernel of its
// caller; what only names a value (get-tuple-element, bitcast) goes with what computes it.
KernelMap MapKernels(const hlo::Module& compiled, const analysis::Placement& placement);

// By instruction of an earlier stage: the kernel that computes it in `after`. What was folded away
// (constants, broadcasts) goes with its first reader that has a kernel.
std::vector<uint32_t> MapOperations(const hlo::Module& before, const analysis::Alignment& links,
                                    const KernelMap& after);
// The same where what computes each is known (see KernelOfEach).
std::vector<uint32_t> WithFoldedOperations(const hlo::Module& before,
                                           std::vector<uint32_t> kernel_of);

// Instructions by kernel, in program order.
class KernelMembers {
 public:
  KernelMembers() = default;
  KernelMembers(const std::vector<uint32_t>& kernel_of, size_t kernels);
  std::span<const hlo::InstructionId> Of(uint32_t kernel) const {
    return kernel + 1 < first_.size()
               ? std::span(members_).subspan(first_[kernel], first_[kernel + 1] - first_[kernel])
               : std::span<const hlo::InstructionId>();
  }

 private:
  std::vector<hlo::InstructionId> members_;
  std::vector<uint32_t> first_;  // by kernel
};

// True for what computes, moves or communicates: what a user counts as an operation. Not for
// parameters, constants, tuples, control flow, and what a reduction applies.
bool IsOperation(const hlo::Module& module, hlo::InstructionId id);

}  // namespace hloscope::graph
