// What if: launches that were counted on a simulated device, by the model on other devices.
#pragma once

#include <cstdint>
#include <vector>

#include "profiler/attribution.h"
#include "profiler/device_facts.h"
#include "profiler/launch_figures.h"

namespace hloscope::profiler {

// As `kernel_details` of an event says it.
KernelDetails DetailsOf(std::span<const Argument> arguments);

// All launches of an instruction on one device.
struct DeviceEstimate {
  size_t time = 0;  // index of Attribution::times()
  int64_t launches = 0;
  double us = 0;                         // by ModelOf, of all launches
  ModelBound bound = ModelBound::kNone;  // of most of that time
  // Of the threads that a multiprocessor may have, 0 to 1, at most: registers that nobody assigned
  // yet do not count; less than 0: not known. Of the last launch.
  double occupancy = -1;
  bool counts_registers = false;
  double multiprocessors = 0;  // that have a block, of the last launch
};

struct WhatIf {
  DeviceFacts device;
  double us = 0;                          // of all
  std::vector<DeviceEstimate> estimates;  // the longest first
};

// One for each device; without estimates where no event has figures.
std::vector<WhatIf> WhatIfOn(const Attribution& attribution,
                             const std::vector<DeviceFacts>& devices);

}  // namespace hloscope::profiler
