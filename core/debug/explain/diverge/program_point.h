// ProgramPoint: when in a run a value is made, by the order of the program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/hlo/module.h"
#include "core/replay/capture/capture_plan.h"

namespace hloscope::debug {

// Compares in program order: what a call runs comes before its result, iteration after iteration,
// in each a loop's condition before its body. Then by device and leaf. No two values have the same.
using ProgramPoint = std::vector<int64_t>;
ProgramPoint PointOf(const hlo::Module& module, const replay::ValueKey& key);

// "while.3 iteration 2, call.1"; empty in the entry.
std::string CallsText(const hlo::Module& module, const replay::ValueKey& key);

}  // namespace hloscope::debug
