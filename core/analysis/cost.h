// What an instruction costs by a simple table: operations and bytes, from shapes alone.
#pragma once

#include "core/hlo/module.h"

namespace hloscope::analysis {

struct Cost {
  double flops = 0;  // additions and multiplications; transcendental functions count 1
  double bytes = 0;  // read and written
};
// Of one execution. Bodies of fusions and calls count with their caller, those of loops once.
// Numbers are estimates; shapes of unknown size count nothing.
Cost CostOf(const hlo::Module& module, hlo::InstructionId id);

}  // namespace hloscope::analysis
