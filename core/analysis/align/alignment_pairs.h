// The one-to-one part of an alignment: instructions that are the same before and after.
#pragma once

#include <cstdint>
#include <vector>

#include "core/analysis/align/alignment.h"
#include "core/analysis/align/alignment_side.h"

namespace hloscope::analysis {

struct InstructionPairs {
  static constexpr uint32_t kNone = AlignmentSide::kNone;
  std::vector<uint32_t> to_after, to_before;  // by instruction; kNone: no partner
  std::vector<LinkReason> reason;             // by instruction after
  std::vector<float> confidence;
};

// By name where nothing speaks against it, then by equal surroundings, then along the operands and
// users of pairs, then by op_name, at last in order.
InstructionPairs PairInstructions(const AlignmentSide& before, const AlignmentSide& after);

}  // namespace hloscope::analysis
