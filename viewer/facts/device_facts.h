// What the device can do at most that a dump was compiled for.
#pragma once

#include "core/dump/dump_model.h"
#include "profiler/device_facts.h"

namespace hloscope::viewer {

// From the target configuration in the dump, that of `module` first.
profiler::DeviceFacts FactsFromDump(const dump::DumpModel& dump, int32_t module);

}  // namespace hloscope::viewer
