// LaunchSums: what the launches of each instruction were counted to do, all of a profile together.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "profiler/attribution.h"
#include "profiler/launch_figures.h"

namespace hloscope::profiler {

struct LaunchSums {
  int64_t launches = 0;
  LaunchFigures figures;
  double model_us = 0;              // of all; 0: not known
  std::string bound, model_device;  // of the last that has them
};
// By times() of an attribution; empty where no event has figures. kDied where `stop` was requested.
Result<std::vector<LaunchSums>> LaunchSumsOf(const Attribution& attribution,
                                             const std::stop_token& stop = {});

}  // namespace hloscope::profiler
