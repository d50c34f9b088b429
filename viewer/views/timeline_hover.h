// What the timeline says of the event under the pointer.
#pragma once

#include "viewer/facts/trace_partners.h"
#include "viewer/views/timeline_painter.h"

namespace hloscope::viewer {

// An event of one of the traces; invalid: none.
struct TimelinePoint {
  size_t trace = 0;
  profiler::EventId event;
};

// The same instruction in the other trace; invalid: there is none.
profiler::Target PartnerOf(const TimelineScene& scene, const SecondTrace& second,
                           const TimelinePoint& at);

void DrawTimelineHover(Frame& frame, const TimelineScene& scene, const SecondTrace& second,
                       const TimelinePoint& at);

}  // namespace hloscope::viewer
