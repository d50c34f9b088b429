// KernelWork: what each kernel of a compiled module moves and computes in one run, by shapes, and
// how long a device takes for it at least.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/kernel_map.h"
#include "core/hlo/analysis/cost.h"
#include "core/hlo/module.h"
#include "profiler/device_facts.h"

namespace hloscope {
class JsonWriter;
}

namespace hloscope::graph {

// Of one execution, as hlo::CostModel tells it; operations of a library call by what it computes.
hlo::Cost CostOfKernel(const hlo::Module& module, hlo::InstructionId id);

// By the shapes of operands and results, as XLA's cost analysis counts them, in one run of the
// module: what a loop runs counts as often as that, or once where that is not known.
struct Traffic {
  double read = 0, written = 0;
  double bytes() const { return read + written; }
  Traffic& operator+=(const Traffic& other) {
    read += other.read;
    written += other.written;
    return *this;
  }
};

struct KernelWork {
  Traffic traffic;
  double flops = 0;  // transcendental functions count 1; of library calls by what they are
  bool is_flops_known = true;    // false: of a custom call of unknown work
  bool is_counted_once = false;  // in a loop or branch that runs an unknown number of times
  // Element type of what a dot or convolution in it multiplies; kInvalid: there is none.
  hlo::ElementType multiplied = hlo::ElementType::kInvalid;
};
// By kernel of the map, which is of `compiled`.
std::vector<KernelWork> WorkOf(const hlo::Module& compiled, const KernelMap& map);

// A lower bound in picoseconds: bytes at the bandwidth of the memory, operations at the rate of the
// units for their type, whichever takes longer. Less than 0: the device is not described.
double LeastTime(const KernelWork& work, const profiler::DeviceFacts& device);

// The object `work` of a module in `info --json`: sums, and the kernels with most.
void WriteWork(const hlo::Module& compiled, const KernelMap& map,
               const profiler::DeviceFacts& device, JsonWriter& json);

}  // namespace hloscope::graph
