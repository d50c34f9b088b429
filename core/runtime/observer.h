// Observer: sees the values of a run as they are made, and where they were made.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "core/hlo/module.h"
#include "core/runtime/value.h"

namespace hloscope::runtime {

// A call on the way from the entry to an instruction: who calls, and for loops in which iteration,
// counted from 0.
struct Frame {
  hlo::InstructionId caller;
  int64_t iteration = 0;
};

// Where an instruction was when it ran.
struct Site {
  hlo::InstructionId instruction;
  int64_t device = 0;
  std::span<const Frame> frames;  // outermost first; empty in the entry
};

// Sees every value of a run as it is made.
class Observer {
 public:
  virtual ~Observer() = default;
  // After an instruction of any computation has run: the operands it had and what it yields, which
  // may be missing. An error ends the run with it.
  virtual Status OnValue(const Site& site, std::span<const Value> operands, const Value& value) = 0;
  // True to see the scalar computation (reducer, comparator, map body) that `caller` applies lane
  // by lane too, which costs far more than the loops it replaces. Results are the same.
  virtual bool WantsLanes(hlo::InstructionId caller) {
    (void)caller;
    return false;
  }
};

}  // namespace hloscope::runtime
