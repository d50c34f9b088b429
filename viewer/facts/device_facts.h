// What a device can do at most, as a dump or a trace describes it.
#pragma once

#include <string>
#include <string_view>

#include "core/dump/dump_model.h"
#include "profiler/event_store.h"

namespace hloscope::viewer {

// 0 where it is not known.
struct DeviceFacts {
  std::string source;           // where they were found; empty: nowhere
  double flops_per_second = 0;  // f32
  double bytes_per_second = 0;
  double threads_per_core = 0, shared_bytes_per_core = 0, registers_per_core = 0;
};

// From the text of a gpu_target_config.
DeviceFacts FactsFromTarget(std::string_view config);
// From the stats of the device planes of a trace.
DeviceFacts FactsFromTrace(const profiler::EventStore& store);
// From the target configuration in the dump, that of `module` first.
DeviceFacts FactsFromDump(const dump::DumpModel& dump, int32_t module);

// The share of a core's threads that a kernel can have at once, 0 to 1; less than 0 where it cannot
// be told. What is not known (0) of the kernel does not limit it.
double Occupancy(const DeviceFacts& device, double threads_per_block, double registers_per_thread,
                 double shared_bytes_per_block);

}  // namespace hloscope::viewer
