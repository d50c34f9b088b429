// Which decisions of fusion an instruction of any stage has a part in.
#pragma once

#include <cstdint>
#include <vector>

#include "core/analysis/align/provenance.h"
#include "core/base/result.h"
#include "core/dump/readers/fusion_decisions.h"

namespace hloscope::analysis {

struct FusionFacts {
  int32_t file = -1;  // of the decisions; -1: the dump has none
  // On what the instruction was when they were made, or became, and of a fusion on all that is in
  // it: first what was left apart.
  std::vector<dump::FusionDecision> decisions;
};

// Errors: the file or a stage cannot be read.
Result<FusionFacts> FusionFactsOf(const Provenance& provenance, int32_t stage,
                                  hlo::InstructionId id);

}  // namespace hloscope::analysis
