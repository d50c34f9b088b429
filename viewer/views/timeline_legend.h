// The lines above the timeline: what colours mean, the critical path, and the second trace.
#pragma once

#include "viewer/facts/trace_partners.h"
#include "viewer/views/timeline_painter.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

// What the colours mean, how long each runs, what runs beside each other, and the switch of the
// critical path.
void DrawTimelineLegend(Frame& frame, const TimelineFacts& facts);

// Sums of the critical path by what it does and waits for; "step" where the range is one.
void DrawPathSums(Frame& frame, const Pending<PathFacts>* path, std::string_view of_what);

// What stands beside what, how it was aligned, and what has no partner.
void DrawTraceComparison(Frame& frame, const SecondTrace& second, std::string_view first_path);

// "collectives: 40 % beside compute".
std::string OverlapText(const TimelineFacts& facts);

}  // namespace hloscope::viewer
