// ValueRanges: what is known about the elements of every array before anything runs.
#pragma once

#include <vector>

#include "core/hlo/module.h"
#include "core/replay/inputs/input_constraints.h"

namespace hloscope::replay {

// The values elements of `type` can have, to the precision of double; infinite for floats.
Interval RangeOfType(hlo::ElementType type);

// An interval per instruction that contains all elements of its value, whatever the inputs are:
// from constants, iotas and operations of bounded result. NaN is not counted.
class ValueRanges {
 public:
  explicit ValueRanges(const hlo::Module& module);
  const Interval& operator[](hlo::InstructionId id) const { return ranges_[id.index]; }

 private:
  std::vector<Interval> ranges_;
};

}  // namespace hloscope::replay
