// What one instruction moves between host and device.
#pragma once

#include <vector>

#include "core/analysis/place/call_counts.h"
#include "core/analysis/place/placement.h"
#include "core/hlo/module.h"

namespace hloscope::analysis {

// Appends the moves that `id`, placed as given, starts.
void AppendTransfers(const hlo::Module& module, hlo::InstructionId id,
                     const PlacedInstruction& placed, const CallCounts& calls,
                     std::vector<Transfer>& transfers);

// Whether an instruction that computes nothing but copies (copy, slice of, update of) has one side
// in memory of the host and one on the device.
bool CrossesHostMemory(const hlo::Module& module, const hlo::Instruction& i);

}  // namespace hloscope::analysis
