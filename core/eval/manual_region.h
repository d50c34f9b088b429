// The custom calls at the borders of manual regions.
#pragma once

#include "core/eval/machine.h"

namespace hloscope::eval {

// From whole arrays to the device's own parts, by the sharding of the operand (or in_shardings).
Result<Value> EnterManualKernel(KernelCall& call);
// From parts to whole arrays, by the sharding of the result (or out_shardings); waits for all
// partitions.
Result<Value> LeaveManualKernel(KernelCall& call);

}  // namespace hloscope::eval
