// The stretch of time that is marked in the timeline, shared by the views of the screen Kernels.
#pragma once

#include "profiler/event_store.h"

namespace hloscope::viewer {

struct TimelineRange {
  profiler::TimeRange range;
  bool is_set = false;
};

}  // namespace hloscope::viewer
