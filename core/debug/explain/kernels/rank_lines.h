// RankLines: in which line of a slice a fault is likely to be.
#pragma once

#include <vector>

#include "core/backends/gpusim/kernel_diagnosis.h"
#include "core/debug/explain/diverge/kernel_finding.h"

namespace hloscope::debug {

// Sets KernelLine::rank. `is_right` says of each step whether it has the value that the fused
// instruction has at the element: what it comes from is then hardly wrong. Of the others
// the most suspect come first (StudiedStep::suspicion: what a sum comes from that takes a value
// twice, then what wrong elements come from and right ones do not), then those nearest to the
// store. `is_not_finite`: the element is a NaN or infinite and should not be; then those come
// before them that are nearest to where a value first is neither finite nor made of one that is
// not. All are aligned, each step behind what it needs.
void RankLines(const std::vector<replay::StudiedStep>& steps, const std::vector<bool>& is_right,
               bool is_not_finite, std::vector<KernelLine>& lines);

}  // namespace hloscope::debug
