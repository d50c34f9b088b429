// How long one execution of each instruction typically takes in a recording, and how sure that is.
#pragma once

#include <stop_token>
#include <vector>

#include "core/base/jobs.h"
#include "core/base/result.h"
#include "profiler/attribution.h"
#include "profiler/sample_statistics.h"

namespace hloscope::profiler {

// What instructions have to take part in a stretch of time to tell the machine's speed in it.
inline constexpr size_t kFewestForSpeed = 8;
// What the clocks of profilers tell at best, in picoseconds.
inline constexpr double kClockTick = 1000;

// For each entry of attribution.times() the logarithm of its typical self time in picoseconds: the
// trimmed mean of its executions, in batches of consecutive ones where they are many, after what
// all instructions have in common over time, the machine's speed, is taken out. The variance
// regards that neighbours resemble each other. Freedom 0: too few executions to tell it; variance 0
// too: none has an event of its own. kCancelled where `stop` was requested.
Result<std::vector<Estimate>> TypicalTimes(const Attribution& attribution, Jobs& jobs,
                                           const std::stop_token& stop = {});

}  // namespace hloscope::profiler
