// What a row of the table of kernels has from the arguments of its events and from the model of
// other devices.
#pragma once

#include <vector>

#include "viewer/facts/kernel_sheet.h"

namespace hloscope::viewer {

// Registers, shared memory in bytes, launch dimensions and occupancy, as far as the longest event
// of the row tells them: `kernel_details` and `theoretical_occupancy_pct` of XLA's traces.
void AddDetails(const profiler::EventStore& store, KernelRow& row);

// On every device that is described, by times() of the attribution; the fastest first.
std::vector<std::vector<KernelElsewhere>> ElsewhereOf(const profiler::Attribution& attribution);

}  // namespace hloscope::viewer
