// Boundaries: the values of an optimised module that lie in memory while it runs, between its
// kernels and library calls. Others exist in registers only.
#pragma once

#include <vector>

#include "core/hlo/module.h"

namespace hloscope::analysis {

// A call of XLA:CPU that is one kernel: cut for several threads (outer_dimension_partitions), or so
// small that it is compiled as a whole (xla_cpu_small_call).
bool IsKernelCall(const hlo::Module& module, const hlo::Instruction& i);

// By computation: true where instructions run one by one, which are the entry and what control flow
// reaches from there; not fusions, applied computations and calls that are one kernel.
std::vector<bool> OutsideKernels(const hlo::Module& module);

// Instructions there that make a value, in program order: parameters, constants, bitcasts, tuples
// and their elements hand values on only, and an asynchronous start has its value at the done.
std::vector<hlo::InstructionId> BoundariesOf(const hlo::Module& module);

}  // namespace hloscope::analysis
