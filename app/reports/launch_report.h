// What launches did on a simulated device, and what counters of a GPU say of kernels, as `profile`
// and `info` tell it.
#pragma once

#include <string>

#include "app/reports/profile_report.h"
#include "core/base/json.h"

namespace hloscope::app {

// A table of instructions that were launched, longest by the model first; empty where nothing was
// counted.
std::string LaunchesText(const ProfileReport& report);

// A table of instructions whose kernels were measured, longest first; empty where none was.
std::string MetricsText(const ProfileReport& report);

// Fields of the object of an instruction, of all its launches together; nothing where none was
// counted.
void AppendLaunches(const profiler::LaunchSums& sums, JsonWriter& json);
// Its field `metrics`; nothing where none of its launches was measured.
void AppendMetrics(const profiler::MetricSums& sums, JsonWriter& json);

}  // namespace hloscope::app
