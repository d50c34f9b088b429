// Whether CUPTI can record here, and if not, why.
#pragma once

#include <string>
#include <vector>

#include "profiler/cupti/library.h"

namespace hloscope::profiler::cupti {

struct Probe {
  CuptiState state = CuptiState::kReady;
  std::string path, version;  // of the libcupti that was tried; empty: none was loaded
  std::string problem, fix;   // empty: it can
};

// Loads libcupti (Library::Open) and starts to record for a moment. In a process that may die of
// it.
Probe ProbeCupti(const std::vector<std::string>& files);

}  // namespace hloscope::profiler::cupti
