// Repeatable: what may be run once instead of often, or often instead of once.
#pragma once

#include <vector>

#include "core/hlo/module.h"

namespace hloscope::eval {

// True for what gives the same bits each time it is run on the same operands and has no effect: all
// but effects, random numbers, what devices do together, and custom calls, of which not all is
// known; and calls of any of these, however far away.
class Repeatable {
 public:
  explicit Repeatable(const hlo::Module& module);
  bool Is(hlo::InstructionId id) const { return !marked_instructions_[id.index]; }
  bool Is(hlo::ComputationId c) const { return !marked_computations_[c.index]; }

 private:
  std::vector<bool> marked_instructions_, marked_computations_;  // those that are not
};

}  // namespace hloscope::eval
