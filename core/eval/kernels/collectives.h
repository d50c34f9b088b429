// What the kernels of collectives share: meeting one's group, and the shapes of results.
#pragma once

#include <memory>
#include <vector>

#include "core/eval/machine/kernels.h"
#include "core/runtime/device_set.h"

namespace hloscope::eval {

using runtime::DeviceGroup;
using runtime::RendezvousState;

struct Gathering {
  std::shared_ptr<RendezvousState> rendezvous;  // null: the device is in no group
  size_t position = 0;
};

// Takes all operands to the meeting of the instruction's replica group.
Result<Gathering> GroupRendezvous(KernelCall& call);

// The first missing value any member brought; null if there is none.
const Value* FindMissing(const RendezvousState& rendezvous);

// One result, or a tuple of them where the instruction's shape is one; for a -start that keeps its
// operands, those first.
Value OneOrTuple(const KernelCall& call, std::vector<Value> results, bool start_keeps_operands);
// The shape of result i; null if the instruction's shape has none.
const hlo::Shape* ResultShape(const KernelCall& call, size_t i, bool start_keeps_operands);

}  // namespace hloscope::eval
