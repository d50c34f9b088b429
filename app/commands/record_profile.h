// Profiles of runs: where `run --profile` and `profile MODULE` write them, and what they say.
#pragma once

#include <span>
#include <string>

#include "app/command.h"
#include "app/reports/profile_report.h"
#include "core/base/result.h"
#include "core/debug/run/run_recorder.h"

namespace hloscope::app {

// The file that a profile of these modules goes to: `out`, or in it where that is a folder. An
// input error where no format is called so.
Result<std::string> ProfilePath(const std::string& out, std::span<const std::string> modules);

// What was recorded, tied to its modules; written to `path` unless that is empty, when `lost` gets
// what the format cannot hold. `statistics` are for who shows the report.
Result<ProfileReport> FinishProfile(debug::RunRecorder& recorder, const std::string& path,
                                    bool statistics, std::vector<profiler::Loss>& lost,
                                    const Context& context);

}  // namespace hloscope::app
