// LaunchSums: what the launches of each instruction were counted to do on a simulated device, and
// what counters of a GPU measured of them, all of a profile together.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "profiler/attribution.h"
#include "profiler/kernel_metrics.h"
#include "profiler/launch_figures.h"
#include "profiler/ptx_lines.h"

namespace hloscope::profiler {

struct LaunchSums {
  int64_t launches = 0;  // that were counted
  LaunchFigures figures;
  double model_us = 0;              // of all; 0: not known
  double model_peak_us = 0;         // of it with all units at their peaks
  std::string bound, model_device;  // of the last that has them
  MetricSums metrics;
  PtxLines lines;
};
// By times() of an attribution; empty where the longest event of no instruction has any of it.
// kCancelled where `stop` was requested.
Result<std::vector<LaunchSums>> LaunchSumsOf(const Attribution& attribution,
                                             const std::stop_token& stop = {});

}  // namespace hloscope::profiler
