// The environment of the processes we start: little of ours, so that runs repeat.
#pragma once

#include <string>
#include <vector>

namespace hloscope::replay {

// The variables `own` (NAME=value), and those of this process that worker_environment.def passes on
// and `own` does not set.
std::vector<std::string> CleanEnvironment(const std::vector<std::string>& own);

}  // namespace hloscope::replay
