// What launches did on a simulated device, as `profile` and `info` tell it.
#pragma once

#include <string>

#include "app/reports/profile_report.h"
#include "core/base/json.h"

namespace hloscope::app {

// A table of instructions that were launched, longest by the model first; empty where nothing was
// counted.
std::string LaunchesText(const ProfileReport& report);

// Fields of the object of an instruction, of all its launches together; nothing where none was
// counted.
void AppendLaunches(const profiler::LaunchSums& sums, JsonWriter& json);

}  // namespace hloscope::app
