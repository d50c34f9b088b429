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

// Numbers that kernels of the instruction count with: dimensions, sizes of rows, where slices,
// padding, windows and operands of a concatenation begin and end, and one less.
std::vector<int64_t> SizesIn(const hlo::Module& alone);

// Arithmetic that explains the difference when it is done otherwise.
struct ExplainingSwitch {
  std::string what;                                     // in words; empty: none does
  std::vector<std::pair<std::string, uint32_t>> lines;  // kernel and line of what is done otherwise
};

// Lines that make the results right when they are written otherwise; then what the checks found;
// then lines whose arithmetic explains the difference: those of the slice by rank, or where it has
// none all of them. Then the others of the slice by rank. At most ten.
std::vector<LookFirst> LinesToLookAt(const KernelFinding& finding,
                                     const replay::KernelCase& kernels,
                                     const std::vector<replay::TriedEdit>& edits,
                                     const ExplainingSwitch& explains);

}  // namespace hloscope::debug
