// What each kernel that was assembled takes of a device, and how many of its threads that leaves.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/backends/sass/machine_code.h"
#include "core/base/json.h"
#include "profiler/device_facts.h"

namespace hloscope::app {

struct KernelOnDevice {
  std::string name;
  replay::KernelResources resources;
  double threads = 0;     // of a block, as the PTX says; 0: it does not
  double occupancy = -1;  // 0 to 1; less: not known
};

// `device`: without a name where nobody described it.
struct AssembledKernels {
  profiler::DeviceFacts device;
  std::vector<KernelOnDevice> kernels;  // what spills first, then the fewest threads at once
};

AssembledKernels OnDevice(const replay::AssembledCode& code, std::string_view ptx,
                          profiler::DeviceFacts device);
// A table; empty without kernels.
std::string KernelsText(const AssembledKernels& all);
// "device" and "kernels_on_device".
void AppendKernels(const AssembledKernels& all, JsonWriter& json);

}  // namespace hloscope::app
