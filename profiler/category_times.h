// Sums of a profile by the categories of its instructions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/hlo/module.h"
#include "profiler/attribution.h"

namespace hloscope::profiler {

// "elementwise", "loop fusion".
std::string CategoryOf(const hlo::Module& module, hlo::InstructionId id);

struct CategoryTime {
  std::string name;
  int64_t count = 0, self = 0;  // executions; picoseconds
};
// Longest `self` first.
std::vector<CategoryTime> CategoryTimes(const Attribution& attribution);

}  // namespace hloscope::profiler
