// The rest of an alignment: where copies, fusions, parameters and new instructions come from, and
// what took the place of removed ones.
#pragma once

#include <vector>

#include "core/analysis/align/alignment.h"
#include "core/analysis/align/alignment_pairs.h"
#include "core/analysis/align/alignment_side.h"

namespace hloscope::analysis {

// All links, those of `pairs` among them.
std::vector<Link> FindLinks(const AlignmentSide& before, const AlignmentSide& after,
                            const InstructionPairs& pairs);

}  // namespace hloscope::analysis
