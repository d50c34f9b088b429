// Which kernel of a run what counters measured in another run belongs to.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "profiler/cupti/decode.h"

namespace hloscope::profiler::cupti {

// A kernel that was launched while counters were read, in order: what was pushed for it.
struct MeasuredLaunch {
  uint64_t external = 0;
  KernelMetrics metrics;
};

// Gives the kernels of the log the metrics of the launches of the same program: the n-th kernel of
// what was pushed, by its start, those of the n-th launch. Where there are more or fewer of one
// than of the other nobody can tell: none of them gets any, which is a warning of the log.
void AttachMetrics(ActivityLog& log, std::span<const MeasuredLaunch> launches);

// Gives the longest kernel of what was pushed the lines that were counted of all its launches.
// Without a kernel of it nothing is given, which is a warning of the log.
void AttachLines(ActivityLog& log, std::map<uint64_t, PtxLines> lines);

}  // namespace hloscope::profiler::cupti
