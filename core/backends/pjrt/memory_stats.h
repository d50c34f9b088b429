// What a compiled program needs of a device's memory.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/backends/pjrt/c_api.h"

namespace hloscope::replay::pjrt {

// XLA's own peak counts what is live at one time and leaves out blocks that are held throughout:
// arguments, results that are not those, and the temporary block, which is allocated as a whole.
inline int64_t PeakBytes(const ExecutableGetCompiledMemoryStatsArgs& stats) {
  const int64_t held = stats.argument_size_in_bytes + stats.output_size_in_bytes -
                       stats.alias_size_in_bytes + stats.temp_size_in_bytes;
  return std::max(stats.peak_memory_in_bytes, held);
}

}  // namespace hloscope::replay::pjrt
