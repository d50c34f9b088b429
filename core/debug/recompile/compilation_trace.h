// The compilations in a trace: passes, backend and parts of it, by the events that XLA opens around
// them.
#pragma once

#include <vector>

#include "core/analysis/compilation/compile_time.h"
#include "profiler/event_store.h"

namespace hloscope::debug {

// In order of their starts; empty where the trace was taken of no compilation.
std::vector<analysis::LoggedTimes> CompilationsOf(const profiler::EventStore& store);

}  // namespace hloscope::debug
