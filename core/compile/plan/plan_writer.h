// PlanWriter: a plan on its way: what MakePlan's parts share.
#pragma once

#include <vector>

#include "core/compile/plan/plan.h"

namespace hloscope::compile {

// What runs a sequence.
struct SequenceOwner {
  SequenceNumber parent = 0;
  hlo::InstructionId caller = {};  // invalid for the computation's own
  bool is_loop = false;
};

struct PlanDraft {
  Plan plan;
  std::vector<SequenceOwner> owners;  // by sequence
  std::vector<SequenceNumber> home;   // by buffer: the sequence that makes it
};

// Gives buffers that may share memory the same number: updates in place, what loops carry, and what
// is only copied; adds the copies that updates in place then still need. Unused copies are dropped.
// `overwrites`: as PlanOptions has it.
void ShareBuffers(PlanDraft& draft, bool overwrites);

// Numbers the steps, finds how long each buffer is wanted and gives those of the arena an offset.
void PlaceBuffers(PlanDraft& draft);

}  // namespace hloscope::compile
