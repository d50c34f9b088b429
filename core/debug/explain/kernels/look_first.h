// LookFirst: the lines of a kernel where its fault is likely to be, each with the reason.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/backends/gpusim/edit_trials.h"
#include "core/backends/gpusim/kernel_case.h"
#include "core/debug/explain/diverge/kernel_finding.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

// Kernel and line of the slice, by rank.
std::vector<std::pair<std::string, uint32_t>> RankedLines(const KernelFinding& finding);

// Numbers that kernels of the instruction count with: dimensions, sizes of rows, and one less.
std::vector<int64_t> SizesIn(const hlo::Module& alone);

// Lines that make the results right when they are written otherwise; then those of the slice by
// rank. At most ten.
std::vector<LookFirst> LinesToLookAt(const KernelFinding& finding,
                                     const replay::KernelCase& kernels,
                                     const std::vector<replay::TriedEdit>& edits);

}  // namespace hloscope::debug
